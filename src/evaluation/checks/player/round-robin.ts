import type { ClientMiddleware } from './client-middleware.ts';

/** Lets the requests of several sessions through one at a time, in turns. */
export class RoundRobin {
  readonly #inside: number[];
  readonly #signal: AbortSignal;
  #turn = 0;
  #waiting = new Set<() => void>();

  /** @param signal lets all requests through when aborted. */
  constructor(sessions: number, signal: AbortSignal) {
    this.#inside = Array.from({ length: sessions }, (_, index) => index);
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#wake(), { once: true });
  }

  /** Middleware for the requests of one session. */
  around(session: number): ClientMiddleware {
    return async (_part, request) => {
      await this.#untilTurn(session);
      try {
        return await request();
      } finally {
        if (this.#inside[this.#turn] === session) this.#next();
      }
    };
  }

  /** Removes a session that makes no more requests. */
  leave(session: number): void {
    const index = this.#inside.indexOf(session);
    if (index === -1) return;
    this.#inside.splice(index, 1);
    if (index < this.#turn) this.#turn -= 1;
    if (this.#turn >= this.#inside.length) this.#turn = 0;
    this.#wake();
  }

  async #untilTurn(session: number): Promise<void> {
    while (this.#inside[this.#turn] !== session && this.#inside.includes(session) && !this.#signal.aborted) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #next(): void {
    this.#turn = (this.#turn + 1) % this.#inside.length;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const resolve of waiting) resolve();
  }
}
