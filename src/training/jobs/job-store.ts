import type { Selectable } from 'kysely';
import { ApiError } from '../../contract/errors.ts';
import { isEnded } from '../../contract/service/ended.ts';
import {
  SHOWN_EVENTS,
  type TrainingAccepted,
  type TrainingEvent,
  type TrainingJobDetail,
  type TrainingJobList,
  trainingEventSchema,
} from '../../contract/service/training.ts';
import type { TrainingStatus } from '../../contract/service/training-states.ts';
import type { Database, DatabaseTransaction } from '../../store/database/database.ts';
import { type ListQuery, readNewestFirst } from '../../store/database/newest-first.ts';
import type { TrainingEventsTable } from '../../store/database/tables/create-training-jobs.ts';
import { newId } from '../../support/runtime/new-id.ts';
import { type WaitLimit, waitForEnd } from '../../support/runtime/wait-for-end.ts';
import { findJob, type JobTasks, jobUrl, type StoredRequest, statusOf, toTrainingJob } from './job-rows.ts';

/**
 * Training jobs (contract section 9). A job is stored in its row, and every process with the database can continue it.
 * This interface records what should happen; a driver does the work (`job-driver.ts`). Every method is scoped to an
 * account.
 */
export interface TrainingJobStore {
  /**
   * Creates a job from a request that the caller has checked.
   *
   * @throws ApiError name_taken when an unfinished job, or `isNameTaken`, claims the name of the model.
   */
  create(job: NewTrainingJob): Promise<TrainingAccepted>;
  /** @throws ApiError job_not_found for an unknown job. */
  get(account: string, jobId: string): Promise<TrainingJobDetail>;
  /** @throws ApiError job_not_found for an unknown job. */
  status(account: string, jobId: string): Promise<TrainingStatus>;
  /** Newest first. @throws ApiError invalid_parameter for a bad limit, or a cursor of another list. */
  list(account: string, query?: TrainingJobQuery): Promise<TrainingJobList>;
  /** Requests a cancel. The job ends once its provider has confirmed. @throws ApiError job_not_found, run_finished */
  cancel(account: string, jobId: string): Promise<void>;
  /** Events after a number, in order. @throws ApiError job_not_found */
  events(
    account: string,
    jobId: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<TrainingEvent[]>;
  /** Resolves when the job has ended, the time is over, or the signal is aborted. @throws ApiError job_not_found */
  waitForEnd(account: string, jobId: string, limit: WaitLimit): Promise<void>;
}

export interface NewTrainingJob {
  readonly account: string;
  readonly keyId: string | null;
  readonly request: StoredRequest;
  readonly tasks: JobTasks;
  /** Writes that belong to the same commit. */
  readonly inTransaction?: (transaction: DatabaseTransaction, accepted: TrainingAccepted) => Promise<void>;
}

export interface TrainingJobQuery extends ListQuery {
  readonly status?: TrainingStatus | undefined;
  /** The name of the model. */
  readonly name?: string | undefined;
}

export interface TrainingJobStoreOptions {
  readonly database: Database;
  /** Address of the pages, without a trailing slash. */
  readonly appUrl: string;
  /** True when a model has this name, read in the transaction that creates the job. */
  readonly isNameTaken: (transaction: DatabaseTransaction, account: string, name: string) => Promise<boolean>;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  /** Called when there may be work: it wakes the driver of this process. */
  readonly onChange?: (() => void) | undefined;
}

/** The jobs of a database. The store needs no `close`; the owner of the database closes that. */
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

  async create({ account, keyId, request, tasks, inTransaction }: NewTrainingJob): Promise<TrainingAccepted> {
    const { appUrl, isNameTaken } = this.#options;
    const jobId = `train_${newId()}`;
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
      await inTransaction?.(transaction, accepted);
    };
    await this.#database.transaction(write, { locking: ['training_jobs'] });
    this.#options.onChange?.();
    return accepted;
  }

  async get(account: string, jobId: string): Promise<TrainingJobDetail> {
    const job = toTrainingJob(await findJob(this.#database.kysely, account, jobId), this.#options.appUrl);
    const events = await this.#newest(jobId, SHOWN_EVENTS.events);
    const measured = await this.#newest(jobId, SHOWN_EVENTS.metrics, 'metrics');
    const metrics = measured.flatMap((event) =>
      event.type === 'metrics' ? [{ step: event.step, metrics: event.metrics }] : [],
    );
    return { ...job, events, metrics };
  }

  async status(account: string, jobId: string): Promise<TrainingStatus> {
    return statusOf(await findJob(this.#database.kysely, account, jobId));
  }

  async list(account: string, query: TrainingJobQuery = {}): Promise<TrainingJobList> {
    const { cursor, limit, ...filters } = query;
    let rows = this.#database.kysely.selectFrom('training_jobs').selectAll().where('account', '=', account);
    if (filters.status !== undefined) rows = rows.where('status', '=', filters.status);
    if (filters.name !== undefined) rows = rows.where('name', '=', filters.name);
    const page = await readNewestFirst(rows, {
      id: 'job_id',
      list: ['training_jobs', account, Object.entries(filters).sort()],
      query: { cursor, limit },
    });
    const data = page.rows.map((row) => toTrainingJob(row, this.#options.appUrl));
    return { object: 'list', data, next_cursor: page.nextCursor() };
  }

  async cancel(account: string, jobId: string): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      const row = await findJob(transaction, account, jobId);
      if (isEnded(statusOf(row))) {
        throw new ApiError('run_finished', `The training job ${jobId} has ended: it is ${row.status}.`);
      }
      // The update does not affect a job that ended in the meantime.
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
    return rows.map(toEvent);
  }

  /** The newest events of a job, of one type or of all, in order. */
  async #newest(jobId: string, limit: number, type?: TrainingEvent['type']): Promise<TrainingEvent[]> {
    let rows = this.#database.kysely.selectFrom('training_events').selectAll().where('job_id', '=', jobId);
    if (type !== undefined) rows = rows.where('type', '=', type);
    const found = await rows.orderBy('seq', 'desc').limit(limit).execute();
    return found.reverse().map(toEvent);
  }

  async waitForEnd(account: string, jobId: string, limit: WaitLimit): Promise<void> {
    await waitForEnd({ isEnded: async () => isEnded(await this.status(account, jobId)) }, limit);
  }
}

function toEvent({ seq, at, type, body }: Selectable<TrainingEventsTable>): TrainingEvent {
  return trainingEventSchema.parse({ seq, at: new Date(Number(at)).toISOString(), type, ...JSON.parse(body) });
}

function nameTaken(name: string, why: string): ApiError {
  return new ApiError('name_taken', `The name ${JSON.stringify(name)} is taken: ${why}. Take another one.`, {
    param: 'name',
  });
}
