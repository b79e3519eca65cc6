import { createHash } from 'node:crypto';
import { ApiError } from '../../contract/errors.ts';
import { NO_REDACTION, type Redactor } from '../../support/redaction/redactor.ts';
import { withDeadline } from '../../support/runtime/deadline.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';

/** Milliseconds that an answer is stored. */
const KEPT_MS = 24 * 60 * 60 * 1_000;
const MAX_KEY_LENGTH = 255;
/**
 * Milliseconds that a request waits for the answer to an earlier one with its key. Checks of a large evaluation take
 * minutes.
 */
const WAIT_MS = 10 * 60 * 1_000;

/** A key belongs to its account. The same key from another account is another key. */
export interface AccountKey {
  readonly account: string;
  readonly key: string;
}

export interface IdempotencyOptions<Answer> {
  readonly database: Database;
  /** Name of the group of requests. Equal keys in two scopes are different keys. */
  readonly scope: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Removes secrets from the stored answers. */
  readonly redactor?: Redactor;
  /** False when the run that the answer names was deleted. The request then counts as new. */
  isAlive(answer: Answer): Promise<boolean>;
}

export interface Answered<Answer> {
  readonly answer: Answer;
  /** False for a stored answer. */
  readonly isNew: boolean;
}

/**
 * Stores answers by the `Idempotency-Key` of their requests, so that a repeated request gets the same answer. Only
 * successful answers are stored, and only while the thing that they name exists. Requests are compared as JSON values.
 */
export class Idempotency<Answer> {
  readonly #options: IdempotencyOptions<Answer>;
  /** The requests in progress, by their stored keys. */
  readonly #running = new Map<string, RunningRequest<Answer>>();

  constructor(options: IdempotencyOptions<Answer>) {
    this.#options = options;
  }

  /**
   * Returns the stored answer of the key, or runs `work`. The answer is stored before the client gets it, so that the
   * client may repeat the request at once. Concurrent requests to several processes each run `work`.
   *
   * @throws ApiError invalid_parameter for a malformed key, idempotency_conflict for another request with the same key,
   * request_in_progress while the first request is in progress; errors of `work`.
   */
  async answer(
    accountKey: AccountKey,
    request: unknown,
    work: (keep: (answer: Answer) => Promise<void>) => Promise<Answer>,
  ): Promise<Answered<Answer>> {
    const place = toPlace(accountKey, request);
    if (this.#runningAt(place) !== undefined) throw inProgress();
    return await this.#run(place, undefined, async (leave) => {
      const kept = await this.#find(place);
      if (kept?.isAlive === true) return { answer: kept.answer, isNew: false };
      const answer = await work(async (worked) => {
        await this.#options.database.transaction((transaction) => this.#keep(transaction, place, worked, 'any'));
        leave();
      });
      return { answer, isNew: true };
    });
  }

  /**
   * Returns the stored answer of the key, or runs `work`, which stores its answer in the transaction that creates the
   * thing that the answer names. Of concurrent requests, to one process or to several, one runs `work` and all get its
   * answer. After a failure the next request may use the key.
   *
   * @param signal aborted when the client goes away. The first request whose client is still there runs `work`.
   * @throws ApiError invalid_parameter, idempotency_conflict; capacity_exceeded when the first request takes too long;
   * errors of `work`.
   */
  async once(
    accountKey: AccountKey,
    request: unknown,
    signal: AbortSignal,
    work: (keep: (transaction: DatabaseTransaction, answer: Answer) => Promise<void>) => Promise<Answer>,
  ): Promise<Answered<Answer>> {
    const place = toPlace(accountKey, request);
    for (;;) {
      const running = this.#runningAt(place);
      if (running === undefined) return await this.#run(place, signal, () => this.#workOnce(place, work));
      try {
        const wait = { ms: WAIT_MS, signal, toError: takesTooLong };
        const { answer } = await withDeadline(() => running.answered, wait);
        return { answer, isNew: false };
      } catch (error) {
        if (signal.aborted || running.signal?.aborted !== true) throw error;
      }
    }
  }

  async #workOnce(
    place: Place,
    work: (keep: (transaction: DatabaseTransaction, answer: Answer) => Promise<void>) => Promise<Answer>,
  ): Promise<Answered<Answer>> {
    const kept = await this.#find(place);
    if (kept?.isAlive === true) return { answer: kept.answer, isNew: false };
    try {
      const answer = await work((transaction, worked) => this.#keep(transaction, place, worked, kept?.stored));
      return { answer, isNew: true };
    } catch (error) {
      // Another process may have been faster: its row conflicts with this one, or it stored the key first.
      const taken = await this.#find(place);
      if (taken?.isAlive !== true) throw error;
      return { answer: taken.answer, isNew: false };
    }
  }

  /**
   * The request with the same key that is in progress in this process. @throws ApiError idempotency_conflict if it
   * differs.
   */
  #runningAt({ key, hash }: Place): RunningRequest<Answer> | undefined {
    const running = this.#running.get(key);
    if (running !== undefined && running.hash !== hash) throw conflict();
    return running;
  }

  /** Runs `work` as the request in progress. `leave` lets the next request start before this one ends. */
  async #run(
    { key, hash }: Place,
    signal: AbortSignal | undefined,
    work: (leave: () => void) => Promise<Answered<Answer>>,
  ): Promise<Answered<Answer>> {
    const leave = () => {
      if (this.#running.get(key) === running) this.#running.delete(key);
    };
    const answered = Promise.resolve()
      .then(() => work(leave))
      .finally(() => leave());
    const running: RunningRequest<Answer> = { hash, signal, answered };
    this.#running.set(key, running);
    return await answered;
  }

  /** @throws ApiError idempotency_conflict when the key has the answer to another request. */
  async #find({ key, hash }: Place): Promise<StoredAnswer<Answer> | undefined> {
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
    // A key whose run was deleted is free again, also for another request.
    if (kept.isAlive && row.request_hash !== hash) throw conflict();
    return kept;
  }

  /**
   * @param over the stored answer that this one replaces. @throws UniqueViolationError when another process has stored
   * an answer in the meantime.
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

/** Stored key of a request, and the hash of its body. */
interface Place {
  readonly key: string;
  readonly hash: string;
}

interface RunningRequest<Answer> {
  readonly hash: string;
  /** Aborted when the client of the request goes away. */
  readonly signal: AbortSignal | undefined;
  readonly answered: Promise<Answered<Answer>>;
}

interface StoredAnswer<Answer> {
  readonly answer: Answer;
  readonly isAlive: boolean;
  /** The answer as the database holds it. */
  readonly stored: string;
}

/** @throws ApiError invalid_parameter for a malformed key. */
function toPlace({ account, key }: AccountKey, request: unknown): Place {
  if (key.trim() === '' || key.length > MAX_KEY_LENGTH) {
    throw new ApiError('invalid_parameter', `Idempotency-Key has to be 1 to ${MAX_KEY_LENGTH} characters.`);
  }
  return { key: hashOfJson([account, key]), hash: hashOfJson(request) };
}

function takesTooLong(limit: string): ApiError {
  return new ApiError(
    'capacity_exceeded',
    `The first request with this Idempotency-Key has no answer after ${limit}: send it again to wait for it.`,
  );
}

/** The reply to a request whose first copy is still in progress. */
function inProgress(): ApiError {
  return new ApiError(
    'request_in_progress',
    'The first request with this Idempotency-Key is still being answered: wait for its answer.',
  );
}

/** The reply to a key that was used with another request. */
function conflict(): ApiError {
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
