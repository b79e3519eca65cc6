import type { NewTrainingEvent } from '../../contract/training.ts';
import { isTrainingEnd, type TrainingStatus } from '../../contract/training-states.ts';
import type { Database, DatabaseTransaction } from '../../database/database.ts';
import { isGone } from '../../database/owner.ts';
import { type Job, type JobResult, type Remote, type TrainingJobRow, toJob } from './job-rows.ts';

/** Somebody else works on the job, or it has ended: whoever gets this stops, and writes nothing. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';

  constructor(jobId: string) {
    super(`The training job ${jobId} is no longer worked on here`);
  }
}

/** A change of a job. Parts of `remote` and `result` are merged into what is there. */
export interface JobChange {
  readonly status?: TrainingStatus;
  /** Said with the change of the status. */
  readonly message?: string;
  readonly dataset?: Job['dataset'];
  readonly remote?: Remote;
  readonly result?: JobResult;
  readonly events?: readonly NewTrainingEvent[];
  readonly failures?: number;
  /** False: a cancel that came too late. */
  readonly isCancelRequested?: false;
  /** Milliseconds since 1970: gives the job back until then. */
  readonly dueAt?: number;
  /** Writes that belong to the same commit. */
  readonly alongside?: (transaction: DatabaseTransaction) => Promise<void>;
}

export interface LeaseOptions {
  readonly database: Database;
  /** JSON of `ownerHere`. */
  readonly owner: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Events of one change that are kept: a trainer that prints without end fills no database. */
const MAX_EVENTS = 10_000;

/**
 * Takes a job that is due and that nobody works on: one whose owner is gone is taken over.
 *
 * @returns undefined where somebody else was faster.
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

/** A job that is worked on here. Every write says so: whoever lost it, however long it stood still, writes nothing. */
export class JobLease {
  readonly #options: LeaseOptions;
  #job: Job;

  constructor(options: LeaseOptions, job: Job) {
    this.#options = options;
    this.#job = job;
  }

  /** As it was last read or written here. */
  get job(): Job {
    return this.#job;
  }

  /** Says that it is worked on. @throws LeaseLost */
  async renew(): Promise<void> {
    const { database, owner } = this.#options;
    const row = await database.kysely
      .updateTable('training_jobs')
      .set({ seen_at: Date.now() })
      .where('job_id', '=', this.#job.id)
      .where('owner', '=', owner)
      .returning(['cancel_requested'])
      .executeTakeFirst();
    if (row === undefined) throw new LeaseLost(this.#job.id);
    this.#job = { ...this.#job, isCancelRequested: row.cancel_requested === 1 };
  }

  /** Writes a change and its events in one commit. An end gives the job back for good. @throws LeaseLost */
  async write(change: JobChange): Promise<Job> {
    this.#job = await this.#options.database.transaction((transaction) => this.#writeIn(transaction, change));
    return this.#job;
  }

  /** The same in a transaction of others; what was written is known here once `committed` is called. @throws LeaseLost */
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
    if (row === undefined) throw new LeaseLost(id);
    const at = now();
    const updated = await transaction
      .updateTable('training_jobs')
      .set(toColumns(row, change, at))
      .where('job_id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    await insertEvents(transaction, id, eventsOf(toJob(row), change), at);
    await change.alongside?.(transaction);
    return toJob(updated);
  }

  /** Gives it back as it is: to another process, or a later look. One that was lost already is no error. */
  async release(dueAt: number): Promise<void> {
    const { database, owner } = this.#options;
    await database.kysely
      .updateTable('training_jobs')
      .set(({ eb }) => ({
        owner: null,
        // A cancel does not wait for it.
        due_at: eb.case().when('cancel_requested', '=', 1).then(this.#options.now()).else(dueAt).end(),
      }))
      .where('job_id', '=', this.#job.id)
      .where('owner', '=', owner)
      .execute();
  }
}

function toColumns(row: TrainingJobRow, change: JobChange, now: number) {
  const { status, dataset, remote, result, failures, isCancelRequested, dueAt } = change;
  const isNew = status !== undefined && status !== row.status;
  return {
    ...(status === undefined ? {} : { status }),
    ...(isNew ? { status_since: now } : {}),
    ...(isNew && isTrainingEnd(status) ? { finished_at: now, owner: null } : {}),
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
    ...{ job_id: jobId, seq: first + index, at, type },
    body: JSON.stringify(body),
  }));
  // Below the number of parameters that a statement of SQLite takes.
  for (let from = 0; from < rows.length; from += 1_000) {
    await transaction
      .insertInto('training_events')
      .values(rows.slice(from, from + 1_000))
      .execute();
  }
}
