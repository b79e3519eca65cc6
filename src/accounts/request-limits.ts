const WINDOW_MS = 60_000;
/** Keys that are remembered; the one that was added first goes, and starts anew. */
const MAX_KEYS = 10_000;

/**
 * How many requests each key has made in the last minute: a window that slides, so that no minute, whenever it begins,
 * has more than the limit. It is held in memory and counts what this process serves: behind N processes a key has up to N
 * times its limit.
 */
export class RequestLimits {
  readonly #now: () => number;
  readonly #windows = new Map<string, SlidingWindow>();

  /** @param now milliseconds of a clock that only goes forward. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts a request. @returns undefined, or in how many milliseconds one is allowed again: then it was not counted. */
  take(keyId: string, perMinute: number): number | undefined {
    const window = this.#windows.get(keyId) ?? this.#remember(keyId);
    const now = this.#now();
    window.forgetUntil(now - WINDOW_MS);
    if (window.count < perMinute) {
      window.times.push(now);
      return undefined;
    }
    // As many as exceed the limit have to leave the window: more than one where the limit was lowered.
    return window.at(window.count - perMinute) + WINDOW_MS - now;
  }

  #remember(keyId: string): SlidingWindow {
    if (this.#windows.size >= MAX_KEYS) this.#windows.delete(this.#windows.keys().next().value ?? '');
    const window = new SlidingWindow();
    this.#windows.set(keyId, window);
    return window;
  }
}

/** Times of requests, oldest first. */
class SlidingWindow {
  times: number[] = [];
  #forgotten = 0;

  get count(): number {
    return this.times.length - this.#forgotten;
  }

  at(index: number): number {
    return this.times[this.#forgotten + index] ?? 0;
  }

  forgetUntil(time: number): void {
    while (this.count > 0 && this.at(0) <= time) this.#forgotten++;
    // Now and then, since each time costs the whole length.
    if (this.#forgotten < this.times.length / 2) return;
    this.times = this.times.slice(this.#forgotten);
    this.#forgotten = 0;
  }
}
