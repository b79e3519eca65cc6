import { createHash } from 'node:crypto';
import type { Exchange } from './exchange.ts';

/** Answers that are kept for a client that asks again, and their size in all. */
const MAX_KEPT = 8;
const MAX_KEPT_SIZE = 16 * 1_024 * 1_024;

/**
 * The model calls of a seat by their requests: one that is repeated is no call more. Repeated is the same path and body,
 * while the first is being answered, when its answer did not reach the client in full, or when the client says so.
 */
export class RepeatedRequests {
  readonly #calls = new Map<string, Exchange>();

  static keyOf(path: string, body: unknown): string {
    return createHash('sha256')
      .update(`${path}\0${JSON.stringify(body)}`)
      .digest('base64');
  }

  /** The call that a request repeats. A call that failed brought nothing: it is made again. */
  find(key: string, isRetry: boolean): Exchange | undefined {
    const call = this.#calls.get(key);
    if (call === undefined || call.state === 'failed' || call.abandoned.aborted) return undefined;
    return call.state === 'open' || isRetry || !call.wasRead ? call : undefined;
  }

  add(key: string, call: Exchange): void {
    this.#calls.delete(key);
    this.#calls.set(key, call);
  }

  /** Forgets the oldest of those that were answered. */
  trim(): void {
    const ended = [...this.#calls].filter(([, call]) => call.state !== 'open');
    let size = ended.reduce((sum, [, call]) => sum + call.size, 0);
    let count = ended.length;
    for (const [key, call] of ended) {
      if (call.state !== 'failed' && count <= MAX_KEPT && size <= MAX_KEPT_SIZE) continue;
      this.#calls.delete(key);
      size -= call.size;
      count -= 1;
    }
  }
}
