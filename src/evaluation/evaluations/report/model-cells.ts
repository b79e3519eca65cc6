import type { OutcomeCounts } from '../../../contract/service/outcome.ts';
import { type Cell, countOutcomes } from './read-cells.ts';

/** Tasks with at least one valid attempt, in order; the lists have one entry for each of them. */
export interface ValuedTasks {
  readonly means: Float64Array;
  /** Shares of the valid attempts. */
  readonly passRates: Float64Array;
  readonly clusters: Int32Array;
  readonly valid: Uint16Array;
  readonly passed: Uint16Array;
}

/** Figures of the done attempts of one model, task by task: 12 bytes for a task, and 16 for an attempt. */
export class ModelCells {
  readonly outcomes: OutcomeCounts = {};
  /** One value for each valid attempt. */
  readonly steps: number[] = [];
  readonly durations: number[] = [];
  readonly #means: Float64Array;
  readonly #valid: Uint16Array;
  readonly #passed: Uint16Array;

  constructor(tasks: number) {
    this.#means = new Float64Array(tasks);
    this.#valid = new Uint16Array(tasks);
    this.#passed = new Uint16Array(tasks);
  }

  add(cell: Cell): void {
    this.#means[cell.taskIndex] = cell.mean ?? 0;
    this.#valid[cell.taskIndex] = cell.valid;
    this.#passed[cell.taskIndex] = cell.passed;
    countOutcomes(this.outcomes, cell);
    for (const [steps, durationMs] of cell.spreads) {
      this.steps.push(steps);
      this.durations.push(durationMs);
    }
  }

  /** Attempts with a reward. */
  validOf(taskIndex: number): number {
    return this.#valid[taskIndex] ?? 0;
  }

  /** The valid attempts of all tasks. */
  countValid(): number {
    return this.#valid.reduce((count, each) => count + each, 0);
  }

  /** Null without a valid attempt. */
  meanOf(taskIndex: number): number | null {
    return this.validOf(taskIndex) === 0 ? null : (this.#means[taskIndex] ?? 0);
  }

  /** @param clusters a number for each task, the same for tasks of one cluster. */
  valuedTasks(clusters: Int32Array): ValuedTasks {
    const isValued = (_: number, taskIndex: number) => this.validOf(taskIndex) > 0;
    const valid = this.#valid.filter(isValued);
    const passed = this.#passed.filter(isValued);
    return {
      valid,
      passed,
      means: this.#means.filter(isValued),
      passRates: Float64Array.from(passed, (count, index) => count / (valid[index] ?? 1)),
      clusters: clusters.filter(isValued),
    };
  }
}
