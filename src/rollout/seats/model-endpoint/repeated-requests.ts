import { createHash } from 'node:crypto';
import type { SharedResponse } from './shared-response.ts';

/** Number and total size (bytes or characters) of the answers that are kept for clients that ask again. */
const MAX_KEPT = 8;
const MAX_KEPT_SIZE = 16 * 1_024 * 1_024;

/**
 * The model calls of a seat by request, so that a repeated request makes no new call. A request repeats an earlier one
 * with the same path and body if that is in progress, if its answer did not reach the client in full, or if the client
 * says so.
 */
export class RepeatedRequests {
  readonly #calls = new Map<string, SharedResponse>();

  static keyOf(path: string, body: unknown): string {
    return createHash('sha256')
      .update(`${path}\0${JSON.stringify(body)}`)
      .digest('base64');
  }

  /** The call that a request repeats. A failed call is made again. */
  find(key: string, isRetry: boolean): SharedResponse | undefined {
    const call = this.#calls.get(key);
    if (call === undefined || call.state === 'failed' || call.abandoned.aborted) return undefined;
    return call.state === 'open' || isRetry || !call.wasRead ? call : undefined;
  }

  add(key: string, call: SharedResponse): void {
    this.#calls.delete(key);
    this.#calls.set(key, call);
  }

  /** Forgets the oldest answered calls above the limits. */
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
