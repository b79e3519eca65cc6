import type { FindingName } from '../../contract/check.ts';
import type { CheckTask, Found } from './finding.ts';

/** Tasks that a message names. */
const MAX_NAMED = 6;

/** The time that the tries of one environment may take, and everything that it was too short for. */
export class Budget {
  readonly #ms: number;
  readonly #startedAt = performance.now();
  /** By finding and scenario: ids of tasks. */
  readonly #left = new Map<string, { readonly finding: FindingName; readonly scenario?: string; ids: Set<string> }>();

  /** @param ms from now on. */
  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Milliseconds that are left; none is 0. */
  get leftMs(): number {
    return Math.max(0, this.#startedAt + this.#ms - performance.now());
  }

  /** True once the time is over. What whoever asks leaves out then is told at the end. */
  isOver(finding: FindingName | readonly FindingName[], task?: CheckTask): boolean {
    if (this.leftMs > 0) return false;
    for (const each of typeof finding === 'string' ? [finding] : finding) this.#leave(each, task);
    return true;
  }

  /** A note for each finding and scenario that was not tried, or not to its end. */
  notes(): readonly Found[] {
    const seconds = Math.round(this.#ms / 1_000);
    return [...this.#left.values()].map(({ finding, scenario, ids }) => {
      const named = [...ids].slice(0, MAX_NAMED).join(', ');
      const more = ids.size > MAX_NAMED ? ` and ${ids.size - MAX_NAMED} more` : '';
      const tasks = ids.size === 0 ? '' : ` with ${named}${more}`;
      const message = `Not tried to the end${tasks}: the ${seconds} s of its check were over. Give it more by --max-time.`;
      return { finding, level: 'note', scenario, message };
    });
  }

  #leave(finding: FindingName, task: CheckTask | undefined): void {
    const scenario = task?.scenario.short_name;
    const key = JSON.stringify([finding, scenario]);
    const entry = this.#left.get(key) ?? { finding, ...(scenario !== undefined && { scenario }), ids: new Set() };
    if (task !== undefined) entry.ids.add(task.id);
    this.#left.set(key, entry);
  }
}
