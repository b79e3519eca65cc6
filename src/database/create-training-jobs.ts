import { type Generated, type Kysely, sql } from 'kysely';

/** Training jobs, what happened in each, and the conversations of models that are served here. */
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
  // Two unfinished jobs never make one name.
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
  /** JSON: the tasks that are held out, and those of the proof, as they were when the job was made. */
  tasks: string;
  /** JSON: hash, counts and steps of the dataset; null until it is built. */
  dataset: string | null;
  /** JSON: what the provider knows it by, and where its provider has been read to. */
  remote: Generated<string>;
  /** JSON: checkpoints, target, evaluations, proof, error. */
  result: Generated<string>;
  cancel_requested: Generated<number>;
  /** Tries in a row that did not reach the provider. */
  failures: Generated<number>;
  /** JSON: the process that works on it (database/owner.ts); null: nobody. */
  owner: string | null;
  /** When that last said that it is there. */
  seen_at: number | null;
  /** Not worked on before. */
  due_at: number;
  status_since: number;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
}

export interface TrainingEventsTable {
  job_id: string;
  /** From 1 without gap. */
  seq: number;
  at: number;
  type: string;
  /** JSON. */
  body: string;
}

/** Models of `proctor/imitation`: any process of the database serves them. */
export interface ImitationModelsTable {
  name: string;
  /** Asked where nothing that was learned is near. */
  base: string;
  /** A key of `gateways`; null: by pattern. */
  base_gateway: string | null;
  lines: number;
  /** JSON lines of the dataset. */
  conversations: string;
  created_at: number;
}
