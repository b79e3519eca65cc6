import type { FindingName } from '../../contract/service/check.ts';
import type { Coverage } from './coverage.ts';
import type { CheckTask } from './finding.ts';

/** The time that the tries of one environment may take. */
export class Budget {
  readonly #ms: number;
  readonly #coverage: Coverage;
  readonly #startedAt = performance.now();

  /**
   * @param ms from now on.
   * @param coverage is told of everything that the time was too short for.
   */
  constructor(ms: number, coverage: Coverage) {
    this.#ms = ms;
    this.#coverage = coverage;
  }

  /** Remaining milliseconds; 0 when the time is over. */
  get leftMs(): number {
    return Math.max(0, this.#startedAt + this.#ms - performance.now());
  }

  /** Reason for everything that was not tried after the time was over. */
  get reason(): string {
    return `the ${Math.round(this.#ms / 1_000)} s of its check were over. Give it more by --max-time`;
  }

  /** True once the time is over. The finding is then recorded as not tried. */
  isOver(finding: FindingName | readonly FindingName[], task?: CheckTask): boolean {
    if (this.leftMs > 0) return false;
    this.#coverage.notTried(finding, this.reason, { task });
    return true;
  }
}
