import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { ApiError } from '../../contract/errors.ts';
import {
  type TrainingAccepted,
  type TrainingEvent,
  type TrainingJob,
  type TrainingJobList,
  trainingEventSchema,
} from '../../contract/training.ts';
import { isTrainingEnd, type TrainingStatus } from '../../contract/training-states.ts';
import type { Database, DatabaseTransaction } from '../../database/database.ts';
import { parsePageCursor, parsePageLimit, toPageCursor } from '../../database/page-cursor.ts';
import { sleep } from '../../runtime/backoff.ts';
import { findJob, type JobTasks, jobUrl, type StoredRequest, statusOf, toTrainingJob } from './job-rows.ts';

/**
 * Training jobs (contract section 9). A job is its row: whoever opens the same database goes on with it. A driver works on
 * it (`job-driver.ts`); this interface only says what should happen. Every method is scoped to an account.
 */
export interface TrainingJobStore {
  /**
   * Makes a job. Everything of its request was checked before, by whoever calls this.
   *
   * @throws ApiError name_taken where an unfinished job makes a model of this name, or `isNameTaken` says so.
   */
  create(job: NewTrainingJob): Promise<TrainingAccepted>;
  /** @throws ApiError job_not_found */
  get(account: string, jobId: string): Promise<TrainingJob>;
  /** Newest first. @throws ApiError invalid_parameter for a limit or cursor that is not one of this list. */
  list(account: string, query?: TrainingJobQuery): Promise<TrainingJobList>;
  /** The job ends as soon as its provider has heard of it. @throws ApiError job_not_found, run_finished */
  cancel(account: string, jobId: string): Promise<void>;
  /** In order, from after a number. @throws ApiError job_not_found */
  events(
    account: string,
    jobId: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<TrainingEvent[]>;
  /** Resolves when it has ended, after so many seconds, or when the signal is aborted. @throws ApiError job_not_found */
  waitForEnd(
    account: string,
    jobId: string,
    options: { readonly seconds: number; readonly signal: AbortSignal },
  ): Promise<void>;
}

export interface NewTrainingJob {
  readonly account: string;
  readonly keyId: string | null;
  readonly request: StoredRequest;
  readonly tasks: JobTasks;
  /** Writes that belong to the same commit. */
  readonly alongside?: (transaction: DatabaseTransaction, accepted: TrainingAccepted) => Promise<void>;
}

export interface TrainingJobQuery {
  /** 1 to 100, default 50. */
  readonly limit?: number | undefined;
  /** The `next_cursor` of the page before. */
  readonly cursor?: string | undefined;
  readonly status?: TrainingStatus | undefined;
  /** The name of the model. */
  readonly name?: string | undefined;
}

export interface TrainingJobStoreOptions {
  readonly database: Database;
  /** Where the pages are, without a slash at the end. */
  readonly appUrl: string;
  /** Whether a model has this name, in the transaction that makes the job. */
  readonly isNameTaken: (transaction: DatabaseTransaction, account: string, name: string) => Promise<boolean>;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  /** Told when there may be something to do: wakes the driver of this process. */
  readonly onChange?: (() => void) | undefined;
}

const LIMIT = { default: 50, minimum: 1, maximum: 100 } as const;
const positionSchema = z.tuple([z.int(), z.string()]);
/** Between two looks at a job whose end is waited for. */
const LOOK_EVERY_MS = 200;

/** The jobs of a database. There is nothing to close; the database is its owner's. */
export function createTrainingJobStore(options: TrainingJobStoreOptions): TrainingJobStore {
  return new DatabaseTrainingJobStore(options);
}

class DatabaseTrainingJobStore implements TrainingJobStore {
  readonly #options: TrainingJobStoreOptions;
  readonly #database: Database;
  readonly #now: () => number;

  constructor(options: TrainingJobStoreOptions) {
    this.#options = options;
    this.#database = options.database;
    this.#now = options.now ?? Date.now;
  }

  async create({ account, keyId, request, tasks, alongside }: NewTrainingJob): Promise<TrainingAccepted> {
    const { appUrl, isNameTaken } = this.#options;
    const jobId = `train_${randomBytes(16).toString('hex')}`;
    const accepted: TrainingAccepted = { job_id: jobId, job_url: jobUrl(appUrl, jobId), status: 'building' };
    const now = this.#now();
    const write = async (transaction: DatabaseTransaction) => {
      const unfinished = await transaction
        .selectFrom('training_jobs')
        .select('job_id')
        .where('account', '=', account)
        .where('name', '=', request.name)
        .where('finished_at', 'is', null)
        .executeTakeFirst();
      if (unfinished !== undefined)
        throw nameTaken(request.name, `the job ${unfinished.job_id} makes a model of this name`);
      if (await isNameTaken(transaction, account, request.name)) {
        throw nameTaken(request.name, 'a registered model has this name');
      }
      await transaction
        .insertInto('training_jobs')
        .values({
          job_id: jobId,
          account,
          key_id: keyId,
          name: request.name,
          provider: request.provider,
          status: 'building',
          request: JSON.stringify(request),
          tasks: JSON.stringify(tasks),
          dataset: null,
          owner: null,
          seen_at: null,
          due_at: now,
          status_since: now,
          created_at: now,
          started_at: null,
          finished_at: null,
        })
        .execute();
      await transaction
        .insertInto('training_events')
        .values({
          job_id: jobId,
          seq: 1,
          at: now,
          type: 'status',
          body: JSON.stringify({ status: 'building', message: null }),
        })
        .execute();
      await alongside?.(transaction, accepted);
    };
    await this.#database.transaction(write, { locking: ['training_jobs'] });
    this.#options.onChange?.();
    return accepted;
  }

  async get(account: string, jobId: string): Promise<TrainingJob> {
    return toTrainingJob(await findJob(this.#database.kysely, account, jobId), this.#options.appUrl);
  }

  async list(account: string, query: TrainingJobQuery = {}): Promise<TrainingJobList> {
    const { cursor, limit: given, ...filters } = query;
    const limit = parsePageLimit(given, LIMIT);
    const list = ['training_jobs', account, Object.entries(filters).sort()];
    let rows = this.#database.kysely.selectFrom('training_jobs').selectAll().where('account', '=', account);
    if (filters.status !== undefined) rows = rows.where('status', '=', filters.status);
    if (filters.name !== undefined) rows = rows.where('name', '=', filters.name);
    if (cursor !== undefined) {
      const [createdAt, id] = parsePageCursor(cursor, list, positionSchema);
      rows = rows.where(({ eb, refTuple, tuple }) => eb(refTuple('created_at', 'job_id'), '<', tuple(createdAt, id)));
    }
    const found = await rows
      .orderBy('created_at', 'desc')
      .orderBy('job_id', 'desc')
      .limit(limit + 1)
      .execute();
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const hasMore = found.length > limit && last !== undefined;
    return {
      object: 'list',
      data: page.map((row) => toTrainingJob(row, this.#options.appUrl)),
      next_cursor: hasMore ? toPageCursor(list, [Number(last.created_at), last.job_id]) : null,
    };
  }

  async cancel(account: string, jobId: string): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      const row = await findJob(transaction, account, jobId);
      if (isTrainingEnd(statusOf(row))) {
        throw new ApiError('run_finished', `The training job ${jobId} has ended: it is ${row.status}.`);
      }
      // It has no effect on one that has ended meanwhile.
      await transaction
        .updateTable('training_jobs')
        .set({ cancel_requested: 1, due_at: this.#now() })
        .where('job_id', '=', jobId)
        .where('finished_at', 'is', null)
        .execute();
    });
    this.#options.onChange?.();
  }

  async events(account: string, jobId: string, { after, limit }: { readonly after: number; readonly limit: number }) {
    await findJob(this.#database.kysely, account, jobId);
    const rows = await this.#database.kysely
      .selectFrom('training_events')
      .selectAll()
      .where('job_id', '=', jobId)
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(limit)
      .execute();
    return rows.map(({ seq, at, type, body }) =>
      trainingEventSchema.parse({ seq, at: new Date(Number(at)).toISOString(), type, ...JSON.parse(body) }),
    );
  }

  async waitForEnd(
    account: string,
    jobId: string,
    { seconds, signal }: { readonly seconds: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const endsAt = performance.now() + seconds * 1_000;
    while (!signal.aborted && performance.now() < endsAt) {
      if (isTrainingEnd(statusOf(await findJob(this.#database.kysely, account, jobId)))) return;
      await sleep(Math.min(LOOK_EVERY_MS, endsAt - performance.now()), signal).catch(() => {}); // The loop sees it.
    }
  }
}

function nameTaken(name: string, why: string): ApiError {
  return new ApiError('name_taken', `The name ${JSON.stringify(name)} is taken: ${why}. Take another one.`, {
    param: 'name',
  });
}
