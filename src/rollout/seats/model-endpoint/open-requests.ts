import type { ServerResponse } from 'node:http';
import { endsWithin } from '../../../support/runtime/deadline.ts';

/** Counts the requests of a seat in progress, and keeps the time of the last one. */
export class OpenRequests {
  readonly #now: () => number;
  #open = 0;
  #lastAt: number;
  #onNone: (() => void)[] = [];

  /** @param now returns milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
    this.#lastAt = now();
  }

  /** Counts a request until its reply is sent or its client has left. */
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

  /** Milliseconds since the last request; 0 while one is in progress. */
  get idleMs(): number {
    return this.#open > 0 ? 0 : this.#now() - this.#lastAt;
  }

  /** Waits until no request is in progress, for at most `limitMs` milliseconds. Never rejects. */
  async none(limitMs: number): Promise<void> {
    if (this.#open === 0) return;
    await endsWithin(new Promise<void>((resolve) => this.#onNone.push(resolve)), limitMs);
  }
}
