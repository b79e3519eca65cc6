import { isEnded } from '../../contract/service/ended.ts';
import type { NewTrainingEvent } from '../../contract/service/training.ts';
import type { TrainingStatus } from '../../contract/service/training-states.ts';
import type { Database, DatabaseTransaction } from '../../store/database/database.ts';
import { isGone, LeaseLostError } from '../../store/database/row-lease.ts';
import { type Job, type JobResult, type Remote, type TrainingJobRow, toJob } from './job-rows.ts';

/** A change of a job. `remote` and `result` are merged into the stored objects. */
export interface JobChange {
  readonly status?: TrainingStatus;
  /** Message of the status event. */
  readonly message?: string;
  readonly dataset?: Job['dataset'];
  readonly remote?: Remote;
  readonly result?: JobResult;
  readonly events?: readonly NewTrainingEvent[];
  readonly failures?: number;
  /** False withdraws a cancel request that came too late. */
  readonly isCancelRequested?: false;
  /** Releases the job until this time, in milliseconds since 1970. */
  readonly dueAt?: number;
  /** Writes that belong to the same commit. */
  readonly inTransaction?: (transaction: DatabaseTransaction) => Promise<void>;
}

export interface LeaseOptions {
  readonly database: Database;
  /** The owner as JSON of `ownerHere`. */
  readonly owner: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Largest number of events of one change. It stops a verbose trainer from filling the database. */
const MAX_EVENTS = 10_000;

/**
 * Takes a job that is due and has no living owner.
 *
 * @returns undefined when another process was faster.
 */
export async function takeJob(options: LeaseOptions, row: TrainingJobRow): Promise<JobLease | undefined> {
  const { database, owner, now } = options;
  if (row.owner !== null && !isGone(JSON.parse(row.owner), Number(row.seen_at))) return undefined;
  const taken = await database.kysely
    .updateTable('training_jobs')
    .set({ owner, seen_at: Date.now(), started_at: row.started_at ?? now() })
    .where('job_id', '=', row.job_id)
    .where('finished_at', 'is', null)
    .where('owner', row.owner === null ? 'is' : '=', row.owner)
    .where('due_at', '<=', now())
    .returningAll()
    .executeTakeFirst();
  return taken === undefined ? undefined : new JobLease(options, toJob(taken));
}

/**
 * A job that this process works on. Every write checks the ownership, so that a former owner writes nothing, however
 * long it was suspended.
 */
export class JobLease {
  readonly #options: LeaseOptions;
  #job: Job;

  constructor(options: LeaseOptions, job: Job) {
    this.#options = options;
    this.#job = job;
  }

  /** The job as this process last read or wrote it. */
  get job(): Job {
    return this.#job;
  }

  /** Records a sign of life. @throws LeaseLostError */
  async renew(): Promise<void> {
    const { database, owner } = this.#options;
    const row = await database.kysely
      .updateTable('training_jobs')
      .set({ seen_at: Date.now() })
      .where('job_id', '=', this.#job.id)
      .where('owner', '=', owner)
      .returning(['cancel_requested'])
      .executeTakeFirst();
    if (row === undefined) throw lost(this.#job.id);
    this.#job = { ...this.#job, isCancelRequested: row.cancel_requested === 1 };
  }

  /** Writes a change and its events in one commit. A final status releases the job for good. @throws LeaseLostError */
  async write(change: JobChange): Promise<Job> {
    this.#job = await this.#options.database.transaction((transaction) => this.#writeIn(transaction, change));
    return this.#job;
  }

  /** The same inside of a given transaction. `job` changes once `committed` is called. @throws LeaseLostError */
  async writeIn(transaction: DatabaseTransaction, change: JobChange): Promise<{ readonly committed: () => void }> {
    const job = await this.#writeIn(transaction, change);
    return {
      committed: () => {
        this.#job = job;
      },
    };
  }

  async #writeIn(transaction: DatabaseTransaction, change: JobChange): Promise<Job> {
    const { database, owner, now } = this.#options;
    const { id } = this.#job;
    const row = await transaction
      .selectFrom('training_jobs')
      .selectAll()
      .where('job_id', '=', id)
      .where('owner', '=', owner)
      .$if(database.kind === 'postgres', (query) => query.forUpdate())
      .executeTakeFirst();
    if (row === undefined) throw lost(id);
    const at = now();
    const updated = await transaction
      .updateTable('training_jobs')
      .set(toColumns(row, change, at))
      .where('job_id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    await insertEvents(transaction, id, eventsOf(toJob(row), change), at);
    await change.inTransaction?.(transaction);
    return toJob(updated);
  }

  /** Releases the job unchanged, for another process or a later look. A lost lease is not an error. */
  async release(dueAt: number): Promise<void> {
    const { database, owner } = this.#options;
    await database.kysely
      .updateTable('training_jobs')
      .set(({ eb }) => ({
        owner: null,
        // A cancel request does not wait for the due time.
        due_at: eb.case().when('cancel_requested', '=', 1).then(this.#options.now()).else(dueAt).end(),
      }))
      .where('job_id', '=', this.#job.id)
      .where('owner', '=', owner)
      .execute();
  }
}

function lost(jobId: string): LeaseLostError {
  return new LeaseLostError(`The training job ${jobId} is no longer worked on here`);
}

function toColumns(row: TrainingJobRow, change: JobChange, now: number) {
  const { status, dataset, remote, result, failures, isCancelRequested, dueAt } = change;
  const isNew = status !== undefined && status !== row.status;
  return {
    ...(status === undefined ? {} : { status }),
    ...(isNew ? { status_since: now } : {}),
    ...(isNew && isEnded(status) ? { finished_at: now, owner: null } : {}),
    ...(dataset === undefined ? {} : { dataset: dataset && JSON.stringify(dataset) }),
    ...(remote === undefined ? {} : { remote: JSON.stringify({ ...JSON.parse(row.remote), ...remote }) }),
    ...(result === undefined ? {} : { result: JSON.stringify({ ...JSON.parse(row.result), ...result }) }),
    ...(isCancelRequested === undefined ? {} : { cancel_requested: 0 }),
    ...(dueAt === undefined ? {} : { due_at: dueAt, owner: null }),
    failures: failures ?? 0,
  };
}

function eventsOf(before: Job, { status, message, events = [] }: JobChange): readonly NewTrainingEvent[] {
  const isNew = status !== undefined && status !== before.status;
  const end: readonly NewTrainingEvent[] = isNew ? [{ type: 'status', status, message: message ?? null }] : [];
  return [...events.slice(0, MAX_EVENTS), ...end];
}

async function insertEvents(
  transaction: DatabaseTransaction,
  jobId: string,
  events: readonly NewTrainingEvent[],
  at: number,
): Promise<void> {
  if (events.length === 0) return;
  const last = await transaction
    .selectFrom('training_events')
    .select(({ fn }) => fn.max('seq').as('seq'))
    .where('job_id', '=', jobId)
    .executeTakeFirst();
  const first = Number(last?.seq ?? 0) + 1;
  const rows = events.map(({ type, ...body }, index) => ({
    job_id: jobId,
    seq: first + index,
    at,
    type,
    body: JSON.stringify(body),
  }));
  // The batch size keeps a statement below SQLite's limit of parameters.
  for (let from = 0; from < rows.length; from += 1_000) {
    await transaction
      .insertInto('training_events')
      .values(rows.slice(from, from + 1_000))
      .execute();
  }
}
