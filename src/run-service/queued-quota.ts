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
  readonly #keys = new Map<string, KeyQueue>();

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Has `accept` queue one more run of the key. A run without a key is not held to anything.
   *
   * @throws ApiError quota_exceeded; what `accept` throws.
   */
  async within(keyId: string | null, accept: () => Promise<void>): Promise<void> {
    if (keyId === null) return await accept();
    const queue = this.#queueOf(keyId);
    if (queue.left <= 0 || performance.now() >= queue.until) await this.#countOnce(keyId, queue);
    if (queue.left <= 0) throw quotaExceeded();
    queue.left -= 1;
    const accepting = accept();
    queue.accepting.add(accepting);
    try {
      await accepting;
    } finally {
      queue.accepting.delete(accepting);
    }
  }

  #queueOf(keyId: string): KeyQueue {
    const known = this.#keys.get(keyId);
    if (known !== undefined) return known;
    if (this.#keys.size >= MAX_KEYS) this.#keys.clear();
    const queue: KeyQueue = { left: 0, until: 0, accepting: new Set(), counting: undefined };
    this.#keys.set(keyId, queue);
    return queue;
  }

  /** Callers that come meanwhile share the same count: with separate counts, all would take the same last place. */
  async #countOnce(keyId: string, queue: KeyQueue): Promise<void> {
    queue.counting ??= this.#count(keyId, queue).finally(() => {
      queue.counting = undefined;
    });
    await queue.counting;
  }

  async #count(keyId: string, queue: KeyQueue): Promise<void> {
    const accepting = [...queue.accepting];
    let left = MAX_QUEUED_RUNS - accepting.length - (await this.#countRows(keyId));
    if (left <= 0 && accepting.length > 0) {
      // Some of those may have been counted twice, as rows too.
      await Promise.allSettled(accepting);
      left = MAX_QUEUED_RUNS - (await this.#countRows(keyId));
    }
    queue.left = left;
    queue.until = performance.now() + COUNTED_FOR_MS;
  }

  async #countRows(keyId: string): Promise<number> {
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

interface KeyQueue {
  /** Runs that may still be accepted before the next count. */
  left: number;
  until: number;
  /** Runs whose rows may not be there yet. */
  readonly accepting: Set<Promise<void>>;
  counting: Promise<void> | undefined;
}

function quotaExceeded(): ApiError {
  return new ApiError(
    'quota_exceeded',
    `This API key has ${MAX_QUEUED_RUNS} runs in the queue, which is as many as a key may have: wait until some have ` +
      'started, or cancel some.',
    { headers: { 'retry-after': '30' } },
  );
}
