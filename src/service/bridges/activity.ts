/** Tells how long a client was not heard of. While work for it goes on it is not idle. */
export class Activity {
  readonly #now: () => number;
  #running = 0;
  #lastAt: number;

  /** @param now milliseconds on any clock that only goes on. */
  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#lastAt = now();
  }

  get idleMs(): number {
    return this.#running > 0 ? 0 : this.#now() - this.#lastAt;
  }

  /** The client was heard of. */
  touch(): void {
    this.#lastAt = this.#now();
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.touch();
    }
  }
}
