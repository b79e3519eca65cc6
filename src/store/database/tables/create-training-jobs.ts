import { type Generated, type Kysely, sql } from 'kysely';

/** Creates the tables of training jobs, their events, and the models of `proctor/imitation`. */
export async function createTrainingJobs({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('training_jobs')
    .addColumn('job_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text')
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('request', 'text', (column) => column.notNull())
    .addColumn('tasks', 'text', (column) => column.notNull())
    .addColumn('dataset', 'text')
    .addColumn('remote', 'text', (column) => column.notNull().defaultTo('{}'))
    .addColumn('result', 'text', (column) => column.notNull().defaultTo('{}'))
    .addColumn('cancel_requested', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('failures', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('owner', 'text')
    .addColumn('seen_at', 'bigint')
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('status_since', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('started_at', 'bigint')
    .addColumn('finished_at', 'bigint')
    .execute();
  await schema
    .createIndex('training_jobs_account')
    .on('training_jobs')
    .columns(['account', 'created_at', 'job_id'])
    .execute();
  // The index prevents two unfinished jobs with the same model name.
  await schema
    .createIndex('training_jobs_name')
    .on('training_jobs')
    .columns(['account', 'name'])
    .unique()
    .where(sql<boolean>`finished_at is null`)
    .execute();
  await schema
    .createIndex('training_jobs_driven')
    .on('training_jobs')
    .column('due_at')
    .where(sql<boolean>`finished_at is null`)
    .execute();
  await schema
    .createTable('training_events')
    .addColumn('job_id', 'text', (column) => column.notNull().references('training_jobs.job_id').onDelete('cascade'))
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('training_events_key', ['job_id', 'seq'])
    .execute();
  await schema
    .createTable('imitation_models')
    .addColumn('name', 'text', (column) => column.primaryKey().notNull())
    .addColumn('base', 'text', (column) => column.notNull())
    .addColumn('base_gateway', 'text')
    .addColumn('lines', 'integer', (column) => column.notNull())
    .addColumn('conversations', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
}

export interface TrainingJobsTable {
  job_id: string;
  account: string;
  key_id: string | null;
  name: string;
  provider: string;
  /** A `TrainingStatus`. */
  status: string;
  /** JSON: the request with its defaults. */
  request: string;
  /** JSON of the tasks that are held out and of the tasks of the proof, at the time when the job was created. */
  tasks: string;
  /** JSON of the dataset's hash, counts and steps; null until it is built. */
  dataset: string | null;
  /** JSON of the provider's ids, and of the position up to which the provider's events were read. */
  remote: Generated<string>;
  /** JSON of checkpoints, target, evaluations, proof and error. */
  result: Generated<string>;
  cancel_requested: Generated<number>;
  /** Number of consecutive failed calls to the provider. */
  failures: Generated<number>;
  /** JSON of the process that works on the job (store/database/row-lease.ts); null when it is free. */
  owner: string | null;
  /** Time of the owner's last sign of life. */
  seen_at: number | null;
  /** Time before which the job is left alone. */
  due_at: number;
  status_since: number;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
}

export interface TrainingEventsTable {
  job_id: string;
  /** Counted from 1 without gaps. */
  seq: number;
  at: number;
  type: string;
  /** JSON of the event. */
  body: string;
}

/** Models of `proctor/imitation`. Any process of the database can serve them. */
export interface ImitationModelsTable {
  name: string;
  /** The base model, which is asked when no learned conversation is close. */
  base: string;
  /** A key of `gateways`. Null selects a gateway by pattern. */
  base_gateway: string | null;
  lines: number;
  /** JSON lines of the dataset. */
  conversations: string;
  created_at: number;
}
