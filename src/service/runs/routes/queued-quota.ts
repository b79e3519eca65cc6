import { sql } from 'kysely';
import { ApiError } from '../../../contract/errors.ts';
import type { Database } from '../../../store/database/database.ts';

/** Most queued runs of one key (contract section 3, "Keys"). */
const MAX_QUEUED_RUNS = 10_000;

/** Milliseconds that a count is used. Runs that other processes accept appear in the next count. */
const COUNTED_FOR_MS = 200;
const MAX_KEYS = 10_000;

/**
 * Limits the queued runs of each key. A key far from its limit is counted at most five times a second.
 *
 * One process may exceed the limit by the runs that it is writing during a count, so by at most the requests that it
 * handles at once. With N processes, each uses its own count for up to 200 ms. Together they may exceed the limit
 * once, by (N − 1) × the runs that one process accepts for the key in 200 ms.
 */
export class QueuedQuota {
  readonly #database: Database;
  readonly #keys = new Map<string, KeyQueue>();

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Runs `accept`, which queues a run of the key, if the limit allows it. Runs without a key have no limit.
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

  /** Concurrent callers share one count. With a count each, all would take the same last place. */
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
      // Runs that were just written may be counted twice: as pending, and as rows.
      await Promise.allSettled(accepting);
      left = MAX_QUEUED_RUNS - (await this.#countRows(keyId));
    }
    queue.left = left;
    queue.until = performance.now() + COUNTED_FOR_MS;
  }

  async #countRows(keyId: string): Promise<number> {
    // Spelled like the condition of the partial index on queued runs, so that the query reads queued rows only.
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
  /** Number of runs that may be accepted before the next count. */
  left: number;
  until: number;
  /** Runs that were accepted but may not be written yet. */
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
