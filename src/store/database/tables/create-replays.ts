import { type Generated, type Kysely, sql } from 'kysely';

/** Creates the tables of grades and regrade jobs, and links traces to the traces that they repeat. */
export async function createReplays({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('traces').addColumn('parent_trace_id', 'text').execute();
  await schema
    .createIndex('traces_parent')
    .on('traces')
    .columns(['parent_trace_id', 'created_at', 'trace_id'])
    .where(sql<boolean>`parent_trace_id is not null`)
    .execute();
  for (const table of ['traces', 'outcomes', 'evaluation_attempts']) {
    await schema.alterTable(table).addColumn('grade_reward', 'double precision').execute();
  }
  await schema.alterTable('outcomes').addColumn('grade_bin', 'integer').execute();
  await schema.alterTable('evaluation_attempts').addColumn('grade_outcome', 'text').execute();
  await schema
    .createTable('grades')
    .addColumn('trace_id', 'text', (column) => column.notNull().references('traces.trace_id').onDelete('cascade'))
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('evaluation', 'text', (column) => column.notNull())
    .addColumn('environment_hash', 'text')
    .addPrimaryKeyConstraint('grades_key', ['trace_id', 'number'])
    .execute();
  await schema
    .createTable('regrades')
    .addColumn('job_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text')
    .addColumn('trace_id', 'text')
    .addColumn('evaluation_id', 'text')
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('finished_at', 'bigint')
    .execute();
  await schema
    .createIndex('regrades_driven')
    .on('regrades')
    .column('job_id')
    .where(sql<boolean>`status = 'running'`)
    .execute();
  await schema.createIndex('regrades_evaluation').on('regrades').columns(['evaluation_id', 'created_at']).execute();
  await schema
    .createTable('regrade_rows')
    .addColumn('job_id', 'text', (column) => column.notNull().references('regrades.job_id').onDelete('cascade'))
    .addColumn('row_index', 'integer', (column) => column.notNull())
    .addColumn('trace_id', 'text', (column) => column.notNull())
    .addColumn('replay_trace_id', 'text')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('task_id', 'text')
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('attempt_index', 'integer')
    .addColumn('outcome', 'text')
    .addColumn('reward_before', 'double precision')
    .addColumn('reward_after', 'double precision')
    .addColumn('detail', 'text')
    .addPrimaryKeyConstraint('regrade_rows_key', ['job_id', 'row_index'])
    .execute();
  await schema
    .createIndex('regrade_rows_open')
    .on('regrade_rows')
    .columns(['job_id', 'state', 'row_index'])
    .where(sql<boolean>`state <> 'done'`)
    .execute();
}

/** Adds the column `fresh` of jobs that ask judges again. */
export async function createFreshRegrades({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable('regrades')
    .addColumn('fresh', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}

/** Later evaluations of a trace, numbered from 1. */
export interface GradesTable {
  trace_id: string;
  number: number;
  at: number;
  /** JSON of the evaluation. */
  evaluation: string;
  environment_hash: string | null;
}

/** Jobs that grade finished traces again. */
export interface RegradesTable {
  job_id: string;
  account: string;
  key_id: string | null;
  trace_id: string | null;
  evaluation_id: string | null;
  /** `running`, `completed` or `cancelled`. */
  status: string;
  /** 1 when judges are asked again. */
  fresh: Generated<number>;
  created_at: number;
  finished_at: number | null;
}

/** The traces of a job, each with the replay that grades it. */
export interface RegradeRowsTable {
  job_id: string;
  /** Counted from 0. */
  row_index: number;
  trace_id: string;
  replay_trace_id: string | null;
  /** `waiting`, `running` (its replay is queued or runs), or `done`. */
  state: string;
  task_id: string | null;
  model: string;
  attempt_index: number | null;
  outcome: string | null;
  reward_before: number | null;
  reward_after: number | null;
  /** JSON of the difference or of the error. */
  detail: string | null;
}
