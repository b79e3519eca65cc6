import { createHash } from 'node:crypto';
import { ApiError } from '../contract/errors.ts';
import { NO_REDACTION, type Redactor } from '../contract/redaction.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';

/** How long an answer is given again. */
const KEPT_MS = 24 * 60 * 60 * 1_000;
const MAX_KEY_LENGTH = 255;

/** Keys are their account's: what another one sends with the same key has nothing to do with it. */
export interface AccountKey {
  readonly account: string;
  readonly key: string;
}

export interface Answered<Answer> {
  readonly answer: Answer;
  /** False for an answer that was kept. */
  readonly isNew: boolean;
}

/**
 * Answers by the `Idempotency-Key` that their requests came with: the same request sent again gets the answer again.
 * Only what succeeded is kept. Requests are compared as JSON values.
 */
export class Idempotency<Answer> {
  readonly #database: Database;
  readonly #scope: string;
  readonly #now: () => number;
  readonly #redactor: Redactor;
  /** Keys, with their accounts, of requests that run. */
  readonly #running = new Map<string, Running<Answer>>();

  /**
   * @param scope what the requests are sent to: keys of one scope say nothing in another.
   * @param redactor takes secrets out of the answers that are kept.
   */
  constructor(database: Database, scope: string, now: () => number, redactor: Redactor = NO_REDACTION) {
    this.#database = database;
    this.#redactor = redactor;
    this.#scope = scope;
    this.#now = now;
  }

  /**
   * Gives the answer that the key has, or runs `work`, which has its answer kept before anybody gets it: a client that
   * has it may send the request again at once. For work that takes long: a request that comes meanwhile is refused.
   *
   * @throws ApiError invalid_parameter for a key that is none, idempotency_conflict for another request with the same
   *   key, session_busy while the first one runs; what `work` throws.
   */
  async answer(
    accountKey: AccountKey,
    request: unknown,
    work: (keep: (answer: Answer) => Promise<void>) => Promise<Answer>,
  ): Promise<Answered<Answer>> {
    const key = toStoredKey(accountKey);
    const hash = hashOf(request);
    const running = this.#running.get(key);
    if (running !== undefined) {
      if (running.hash !== hash) throw conflict();
      throw new ApiError('session_busy', 'The first request with this Idempotency-Key is still running.');
    }
    this.#running.set(key, { hash });
    try {
      const kept = await this.#find(key, hash);
      if (kept !== undefined) return { answer: kept, isNew: false };
      const answer = await work(async (worked) => {
        await this.#database.transaction((transaction) =>
          this.#keep(transaction, { key, hash, answer: worked }, 'replace'),
        );
        this.#running.delete(key);
      });
      return { answer, isNew: true };
    } finally {
      this.#running.delete(key);
    }
  }

  /**
   * Gives the answer that the key has, or runs `work`, whose answer is kept in a transaction of its own choice, with
   * whatever it stands for. Of requests that come at once, to this process or to several, one is worked on, and all
   * have its answer; one that fails leaves the key to the next.
   *
   * @throws ApiError invalid_parameter for a key that is none, idempotency_conflict for another request with the same
   *   key; what `work` throws.
   */
  async once(
    accountKey: AccountKey,
    request: unknown,
    work: (keep: (transaction: DatabaseTransaction, answer: Answer) => Promise<void>) => Promise<Answer>,
  ): Promise<Answered<Answer>> {
    const key = toStoredKey(accountKey);
    const hash = hashOf(request);
    for (;;) {
      const running = this.#running.get(key);
      if (running === undefined) return await this.#workOnce(key, hash, work);
      if (running.hash !== hash) throw conflict();
      const answered = await running.answer?.catch(() => undefined);
      if (answered !== undefined) return { answer: answered.answer, isNew: false };
    }
  }

  async #workOnce(
    key: string,
    hash: string,
    work: (keep: (transaction: DatabaseTransaction, answer: Answer) => Promise<void>) => Promise<Answer>,
  ): Promise<Answered<Answer>> {
    const find = async () => {
      const kept = await this.#find(key, hash);
      return kept === undefined ? undefined : { answer: kept, isNew: false };
    };
    const answering = async () => {
      const known = await find();
      if (known !== undefined) return known;
      try {
        const answer = await work((transaction, worked) => this.#keep(transaction, { key, hash, answer: worked }));
        return { answer, isNew: true };
      } catch (error) {
        // Another process was faster: what was worked on here is undone with its transaction.
        const taken = error instanceof ApiError ? undefined : await find();
        if (taken === undefined) throw error;
        return taken;
      }
    };
    const answer = answering().finally(() => this.#running.delete(key));
    this.#running.set(key, { hash, answer });
    return await answer;
  }

  /** @throws ApiError idempotency_conflict where the key has the answer to another request. */
  async #find(key: string, hash: string): Promise<Answer | undefined> {
    const row = await this.#database.kysely
      .selectFrom('idempotency_keys')
      .select(['request_hash', 'response'])
      .where('scope', '=', this.#scope)
      .where('key', '=', key)
      .where('expires_at', '>', this.#now())
      .executeTakeFirst();
    if (row === undefined) return undefined;
    if (row.request_hash !== hash) throw conflict();
    return JSON.parse(row.response);
  }

  /** @throws where another process has kept an answer since, which is not to be replaced. */
  async #keep(
    transaction: DatabaseTransaction,
    { key, hash, answer }: { readonly key: string; readonly hash: string; readonly answer: Answer },
    ifKept?: 'replace',
  ): Promise<void> {
    const now = this.#now();
    const kept = {
      request_hash: hash,
      response: JSON.stringify(this.#redactor.json(answer)),
      expires_at: now + KEPT_MS,
    };
    await transaction.deleteFrom('idempotency_keys').where('expires_at', '<=', now).execute();
    await transaction
      .insertInto('idempotency_keys')
      .values({ scope: this.#scope, key, ...kept })
      .$if(ifKept === 'replace', (insert) =>
        insert.onConflict((conflicting) => conflicting.columns(['scope', 'key']).doUpdateSet(kept)),
      )
      .execute();
  }
}

interface Running<Answer> {
  readonly hash: string;
  /** Where those who come meanwhile may wait for it. */
  readonly answer?: Promise<Answered<Answer>>;
}

/** @throws ApiError invalid_parameter */
function toStoredKey({ account, key }: AccountKey): string {
  if (key.trim() === '' || key.length > MAX_KEY_LENGTH) {
    throw new ApiError('invalid_parameter', `Idempotency-Key has to be 1 to ${MAX_KEY_LENGTH} characters.`);
  }
  return hashOf([account, key]);
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
