import type { ServerResponse } from 'node:http';
import { endsWithin } from '../runtime/deadline.ts';

/** The requests of a seat that are being answered, and when there was one last. */
export class OpenRequests {
  readonly #now: () => number;
  #open = 0;
  #lastAt: number;
  #onNone: (() => void)[] = [];

  /** @param now milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
    this.#lastAt = now();
  }

  /** Counts a request until its reply is sent, or its client has gone. */
  add(response: ServerResponse): void {
    this.#open += 1;
    this.#lastAt = this.#now();
    response.once('close', () => {
      this.#open -= 1;
      this.#lastAt = this.#now();
      if (this.#open > 0) return;
      for (const tell of this.#onNone.splice(0)) tell();
    });
  }

  /** Milliseconds since there was one; 0 while there is one. */
  get idleMs(): number {
    return this.#open > 0 ? 0 : this.#now() - this.#lastAt;
  }

  /** Waits until there is none, at most so many milliseconds. Never rejects. */
  async none(limitMs: number): Promise<void> {
    if (this.#open === 0) return;
    await endsWithin(new Promise<void>((resolve) => this.#onNone.push(resolve)), limitMs);
  }
}
