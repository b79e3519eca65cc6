import { createHash } from 'node:crypto';
import { ApiError } from '../contract/errors.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import { NO_REDACTION, type Redactor } from '../redaction/redactor.ts';

/** How long an answer is given again. */
const KEPT_MS = 24 * 60 * 60 * 1_000;
const MAX_KEY_LENGTH = 255;

/** Keys are their account's: what another one sends with the same key has nothing to do with it. */
export interface AccountKey {
  readonly account: string;
  readonly key: string;
}

export interface IdempotencyOptions<Answer> {
  readonly database: Database;
  /** The requests that are answered: keys of one scope say nothing in another. */
  readonly scope: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Takes secrets out of the answers that are kept. */
  readonly redactor?: Redactor;
  /** False for an answer whose run was deleted since: its request is a new one. */
  isAlive(answer: Answer): Promise<boolean>;
}

export interface Answered<Answer> {
  readonly answer: Answer;
  /** False for an answer that was kept. */
  readonly isNew: boolean;
}

/**
 * Answers by the `Idempotency-Key` that their requests came with: the same request sent again gets the answer again.
 * Only what succeeded is kept, for as long as what it names exists. Requests are compared as JSON values.
 */
export class Idempotency<Answer> {
  readonly #options: IdempotencyOptions<Answer>;
  /** Hashes of the requests that are being answered, by their stored keys. */
  readonly #running = new Map<string, string>();

  constructor(options: IdempotencyOptions<Answer>) {
    this.#options = options;
  }

  /**
   * Returns the answer that the key has, or runs `work`, which keeps its answer before its client gets it: the client
   * may then send the request again at once. Of requests to several processes at the same time each is worked on.
   *
   * @throws ApiError invalid_parameter for a malformed key, idempotency_conflict for another request with the same key,
   *   request_in_progress while the first one is being answered; what `work` throws.
   */
  async answer(
    accountKey: AccountKey,
    request: unknown,
    work: (keep: (answer: Answer) => Promise<void>) => Promise<Answer>,
  ): Promise<Answered<Answer>> {
    return await this.#alone(accountKey, request, async (place) => {
      const kept = await this.#find(place);
      if (kept?.isAlive === true) return { answer: kept.answer, isNew: false };
      const answer = await work(async (worked) => {
        await this.#options.database.transaction((transaction) => this.#keep(transaction, place, worked, 'any'));
        this.#running.delete(place.key);
      });
      return { answer, isNew: true };
    });
  }

  /**
   * Returns the answer that the key has, or runs `work`, which keeps its answer in the transaction that creates what
   * the answer names. Of requests to several processes at the same time one is worked on, and all get its answer; one
   * that fails leaves the key to the next.
   *
   * @throws as `answer` does.
   */
  async once(
    accountKey: AccountKey,
    request: unknown,
    work: (keep: (transaction: DatabaseTransaction, answer: Answer) => Promise<void>) => Promise<Answer>,
  ): Promise<Answered<Answer>> {
    return await this.#alone(accountKey, request, async (place) => {
      const kept = await this.#find(place);
      if (kept?.isAlive === true) return { answer: kept.answer, isNew: false };
      try {
        const answer = await work((transaction, worked) => this.#keep(transaction, place, worked, kept?.stored));
        return { answer, isNew: true };
      } catch (error) {
        // Another process was faster: its key has undone the transaction of this one.
        const taken = error instanceof ApiError ? undefined : await this.#find(place);
        if (taken?.isAlive !== true) throw error;
        return { answer: taken.answer, isNew: false };
      }
    });
  }

  /** Runs `work` unless a request with the same key is being answered by this process. */
  async #alone(
    accountKey: AccountKey,
    request: unknown,
    work: (place: Place) => Promise<Answered<Answer>>,
  ): Promise<Answered<Answer>> {
    const place = { key: toStoredKey(accountKey), hash: hashOfJson(request) };
    const running = this.#running.get(place.key);
    if (running !== undefined) throw running === place.hash ? inProgress() : conflict();
    this.#running.set(place.key, place.hash);
    try {
      return await work(place);
    } finally {
      this.#running.delete(place.key);
    }
  }

  /** @throws ApiError idempotency_conflict where the key has the answer to another request. */
  async #find({ key, hash }: Place): Promise<Kept<Answer> | undefined> {
    const { database, scope, now, isAlive } = this.#options;
    const row = await database.kysely
      .selectFrom('idempotency_keys')
      .select(['request_hash', 'response'])
      .where('scope', '=', scope)
      .where('key', '=', key)
      .where('expires_at', '>', now())
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const answer: Answer = JSON.parse(row.response);
    const kept = { answer, isAlive: await isAlive(answer), stored: row.response };
    // A key whose run was deleted is free again, for another request too.
    if (kept.isAlive && row.request_hash !== hash) throw conflict();
    return kept;
  }

  /**
   * @param over the stored answer that this one replaces. @throws UniqueViolationError where another process has kept
   *   an answer since.
   */
  async #keep(
    transaction: DatabaseTransaction,
    { key, hash }: Place,
    answer: Answer,
    over: string | 'any' | undefined,
  ): Promise<void> {
    const { scope, redactor = NO_REDACTION } = this.#options;
    const now = this.#options.now();
    const kept = {
      request_hash: hash,
      response: JSON.stringify(redactor.json(answer)),
      expires_at: now + KEPT_MS,
    };
    await transaction.deleteFrom('idempotency_keys').where('expires_at', '<=', now).execute();
    if (over !== undefined) {
      await transaction
        .deleteFrom('idempotency_keys')
        .where('scope', '=', scope)
        .where('key', '=', key)
        .$if(over !== 'any', (removal) => removal.where('response', '=', over))
        .execute();
    }
    await transaction
      .insertInto('idempotency_keys')
      .values({ scope, key, ...kept })
      .execute();
  }
}

/** Where the answer to a request is kept. */
interface Place {
  readonly key: string;
  readonly hash: string;
}

interface Kept<Answer> {
  readonly answer: Answer;
  readonly isAlive: boolean;
  /** The answer as the database holds it. */
  readonly stored: string;
}

/** @throws ApiError invalid_parameter */
function toStoredKey({ account, key }: AccountKey): string {
  checkIdempotencyKey(key);
  return hashOfJson([account, key]);
}

/** @throws ApiError invalid_parameter */
export function checkIdempotencyKey(key: string): void {
  if (key.trim() === '' || key.length > MAX_KEY_LENGTH) {
    throw new ApiError('invalid_parameter', `Idempotency-Key has to be 1 to ${MAX_KEY_LENGTH} characters.`);
  }
}

/** The answer to a request whose first one is still being answered. */
export function inProgress(): ApiError {
  return new ApiError(
    'request_in_progress',
    'The first request with this Idempotency-Key is still being answered: wait for its answer.',
  );
}

/** The answer to a key that came with another request. */
export function conflict(): ApiError {
  return new ApiError('idempotency_conflict', 'This Idempotency-Key came with another request: take a new key.');
}

/** Hash of a JSON value; the order of keys does not matter. */
function hashOfJson(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value, sortKeys)).digest('hex');
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
