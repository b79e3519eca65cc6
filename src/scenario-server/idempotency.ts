import { createHash } from 'node:crypto';
import { ApiError } from '../contract/errors.ts';
import type { Database } from '../database/database.ts';

/** How long an answer is given again. */
const KEPT_MS = 24 * 60 * 60 * 1_000;
const MAX_KEY_LENGTH = 255;

/** Keys are their account's: what another one sends with the same key has nothing to do with it. */
export interface AccountKey {
  readonly account: string;
  readonly key: string;
}

/**
 * Answers by the `Idempotency-Key` that their requests came with: the same request sent again gets the answer again.
 * Only what succeeded is kept.
 */
export class Idempotency<Answer> {
  readonly #database: Database;
  readonly #scope: string;
  readonly #now: () => number;
  /** Keys, with their accounts, of requests that run, with the hash of each. */
  readonly #running = new Map<string, string>();

  constructor(database: Database, scope: string, now: () => number) {
    this.#database = database;
    this.#scope = scope;
    this.#now = now;
  }

  /**
   * Gives the answer that the key has, or runs `work`, which has its answer kept before anybody gets it: a client that
   * has it may send the request again at once.
   *
   * @throws ApiError invalid_parameter for a key that is none, idempotency_conflict for another request with the same
   *   key, session_busy while the first one runs; what `work` throws.
   */
  async answer(
    { account, key: given }: AccountKey,
    request: unknown,
    work: (keep: (answer: Answer) => Promise<void>) => Promise<Answer>,
  ): Promise<{ answer: Answer; isNew: boolean }> {
    if (given.trim() === '' || given.length > MAX_KEY_LENGTH) {
      throw new ApiError('invalid_parameter', `Idempotency-Key has to be 1 to ${MAX_KEY_LENGTH} characters.`);
    }
    const key = hashOf([account, given]);
    const hash = hashOf(request);
    const running = this.#running.get(key);
    if (running !== undefined) {
      if (running !== hash) throw conflict();
      throw new ApiError('session_busy', 'The first request with this Idempotency-Key is still running.');
    }
    this.#running.set(key, hash);
    try {
      const kept = await this.#find(key);
      if (kept !== undefined && kept.hash !== hash) throw conflict();
      if (kept !== undefined) return { answer: kept.answer, isNew: false };
      const answer = await work(async (worked) => {
        await this.#keep(key, hash, worked);
        this.#running.delete(key);
      });
      return { answer, isNew: true };
    } finally {
      this.#running.delete(key);
    }
  }

  async #find(key: string): Promise<{ readonly hash: string; readonly answer: Answer } | undefined> {
    const row = await this.#database.kysely
      .selectFrom('idempotency_keys')
      .select(['request_hash', 'response'])
      .where('scope', '=', this.#scope)
      .where('key', '=', key)
      .where('expires_at', '>', this.#now())
      .executeTakeFirst();
    return row === undefined ? undefined : { hash: row.request_hash, answer: JSON.parse(row.response) };
  }

  async #keep(key: string, hash: string, answer: Answer): Promise<void> {
    const now = this.#now();
    const row = { scope: this.#scope, key, request_hash: hash, response: JSON.stringify(answer) };
    await this.#database.transaction(async (transaction) => {
      await transaction.deleteFrom('idempotency_keys').where('expires_at', '<=', now).execute();
      await transaction
        .insertInto('idempotency_keys')
        .values({ ...row, expires_at: now + KEPT_MS })
        .onConflict((conflicting) =>
          conflicting.columns(['scope', 'key']).doUpdateSet({ ...row, expires_at: now + KEPT_MS }),
        )
        .execute();
    });
  }
}

function conflict(): ApiError {
  return new ApiError('idempotency_conflict', 'This Idempotency-Key came with another request: take a new key.');
}

/** Of JSON values: the order of keys says nothing. */
function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value, sortKeys)).digest('hex');
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
