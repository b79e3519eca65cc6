const WINDOW_MS = 60_000;
/** Largest number of keys in memory. Beyond it the oldest key is dropped and its count starts again. */
const MAX_KEYS = 10_000;

/**
 * Counts the requests of each key in a sliding minute, so that no 60 seconds have more than the limit. The counts are
 * in memory and per process: behind N processes a key can make up to N times its limit.
 */
export class RequestLimits {
  readonly #now: () => number;
  readonly #windows = new Map<string, SlidingWindow>();

  /** @param now milliseconds of a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Counts a request. @returns undefined when it is allowed, else the milliseconds until one is; that request is not
   * counted.
   */
  take(keyId: string, perMinute: number): number | undefined {
    const window = this.#windows.get(keyId) ?? this.#remember(keyId);
    const now = this.#now();
    window.forgetUntil(now - WINDOW_MS);
    if (window.count < perMinute) {
      window.times.push(now);
      return undefined;
    }
    // With a lowered limit several requests have to leave the window before the next is allowed.
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
    // This runs only when half of the list is obsolete, since it copies the whole list.
    if (this.#forgotten < this.times.length / 2) return;
    this.times = this.times.slice(this.#forgotten);
    this.#forgotten = 0;
  }
}
