import type { DatasetCounts, DatasetStepName } from '../../contract/service/dataset.ts';

/** Counts the traces of one step while it runs. */
export class StepCounts {
  readonly #step: DatasetStepName;
  readonly #dropped = new Map<string, number>();
  #in = 0;
  #out = 0;

  constructor(step: DatasetStepName) {
    this.#step = step;
  }

  get in(): number {
    return this.#in;
  }

  kept(count = 1): void {
    this.#in += count;
    this.#out += count;
  }

  dropped(reason: string, count = 1): void {
    if (count === 0) return;
    this.#in += count;
    this.#dropped.set(reason, (this.#dropped.get(reason) ?? 0) + count);
  }

  /** Counts traces that were combined into pairs. */
  paired(traces: number, pairs: number): void {
    this.#in += traces;
    this.#out += pairs;
  }

  /** The counts, with reasons sorted by name. */
  toCounts(): DatasetCounts {
    const dropped = Object.fromEntries([...this.#dropped].sort(([one], [other]) => (one < other ? -1 : 1)));
    return { step: this.#step, in: this.#in, out: this.#out, dropped };
  }
}
