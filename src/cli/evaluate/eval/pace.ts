import type { Progress } from '../../../contract/service/evaluation.ts';

/** Milliseconds of the past that the pace is computed from. */
const WINDOW_MS = 120_000;
/** Least time and number of ended attempts for an estimate, since the start of an evaluation is not typical. */
const SHORTEST_MS = 3_000;
const FEWEST_ENDS = 5;

/** How fast attempts end, and how long the rest will take at that pace. */
export class Pace {
  readonly #now: () => number;
  #samples: { readonly at: number; readonly done: number }[] = [];
  #latest: Progress | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(progress: Progress): void {
    const at = this.#now();
    this.#latest = progress;
    // After a rerun fewer attempts are done, so earlier samples are dropped.
    if (progress.done < (this.#samples.at(-1)?.done ?? 0)) this.#samples = [];
    this.#samples.push({ at, done: progress.done });
    while (this.#samples.length > 2 && at - (this.#samples[1]?.at ?? at) > WINDOW_MS) this.#samples.shift();
  }

  /** Estimated milliseconds that are left; undefined without enough samples. */
  leftMs(): number | undefined {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || this.#latest === undefined) return undefined;
    const [tookMs, ended] = [last.at - first.at, last.done - first.done];
    if (tookMs < SHORTEST_MS || ended < FEWEST_ENDS) return undefined;
    const open = this.#latest.total - this.#latest.done;
    return Math.max(0, (open * tookMs) / ended - (this.#now() - last.at));
  }
}
