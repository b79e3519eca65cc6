import { sql } from 'kysely';
import { ApiError } from '../contract/errors.ts';
import type { Database } from '../database/database.ts';

/** Queued runs of one key (contract section 3, "Keys"). */
const MAX_QUEUED_RUNS = 10_000;

/** How long a count is good for, in milliseconds. What other processes accept is heard of by the next one. */
const COUNTED_FOR_MS = 200;
const MAX_KEYS = 10_000;

/**
 * Holds each key to its queued runs. The rows are counted, at most five times a second for a key that is far from its limit.
 *
 * One process keeps the limit but for the runs that are on their way to the store while it counts, at most as many as it
 * answers at once. Of several processes each gives out the places that it counted for up to 200 ms: N of them may accept
 * at most (N − 1) × what one of them accepts of the key in 200 ms beyond the limit, once, and then nothing until it has room.
 */
export class QueuedQuota {
  readonly #database: Database;
  readonly #counts = new Map<string, Count>();

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Makes sure that one more may be queued. A run without a key is not held to anything.
   *
   * @throws ApiError quota_exceeded
   */
  async take(keyId: string | null): Promise<void> {
    if (keyId === null) return;
    let known = this.#counts.get(keyId);
    if (known === undefined || known.left <= 0 || performance.now() >= known.until) {
      known = { left: MAX_QUEUED_RUNS - (await this.#count(keyId)), until: performance.now() + COUNTED_FOR_MS };
      if (this.#counts.size >= MAX_KEYS) this.#counts.clear();
      this.#counts.set(keyId, known);
    }
    if (known.left <= 0) throw quotaExceeded();
    known.left -= 1;
  }

  async #count(keyId: string): Promise<number> {
    // Written out, as the index of queued runs has it: by it this is the cost of what is queued, not of what there is.
    const { count } = await this.#database.kysely
      .selectFrom('traces')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('key_id', '=', keyId)
      .where(sql<boolean>`status = 'queued' and key_id is not null`)
      .executeTakeFirstOrThrow();
    return Number(count);
  }
}

interface Count {
  left: number;
  readonly until: number;
}

function quotaExceeded(): ApiError {
  return new ApiError(
    'quota_exceeded',
    `This API key has ${MAX_QUEUED_RUNS} runs in the queue, which is as many as a key may have: wait until some have ` +
      'started, or cancel some.',
    { headers: { 'retry-after': '30' } },
  );
}
