import { type Kysely, sql } from 'kysely';

/**
 * Creates the tables of evaluations, their tasks and attempts, budget reservations, and the shared limits of gateways.
 */
export async function createEvaluations(database: Kysely<unknown>): Promise<void> {
  await createEvaluationRows(database);
  await createTaskRows(database);
  await createAttemptRows(database);
  await createReservations(database);
  await createGatewayLimits(database);
  await linkTraces(database);
}

async function createEvaluationRows({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('evaluations')
    .addColumn('evaluation_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text')
    .addColumn('name', 'text')
    .addColumn('identity', 'text', (column) => column.notNull())
    .addColumn('parent', 'text')
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('settings', 'text', (column) => column.notNull())
    .addColumn('taskset_name', 'text')
    .addColumn('taskset_version', 'text', (column) => column.notNull())
    .addColumn('tasks', 'integer', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('concurrency', 'integer', (column) => column.notNull())
    .addColumn('budget_usd', 'double precision')
    .addColumn('budget_tokens', 'bigint')
    .addColumn('spent_usd', 'double precision', (column) => column.notNull().defaultTo(0))
    .addColumn('spent_tokens', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('next_attempt', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('finished_at', 'bigint')
    .addColumn('report', 'text')
    .execute();
  await schema
    .createIndex('evaluations_account')
    .on('evaluations')
    .columns(['account', 'created_at', 'evaluation_id'])
    .execute();
  await schema.createIndex('evaluations_identity').on('evaluations').columns(['account', 'identity']).execute();
  await schema
    .createIndex('evaluations_driven')
    .on('evaluations')
    .column('evaluation_id')
    .where(sql<boolean>`status = 'running' or status = 'deleted'`)
    .execute();
}

async function createTaskRows({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('evaluation_tasks')
    .addColumn('evaluation_id', 'text', (column) =>
      column.notNull().references('evaluations.evaluation_id').onDelete('cascade'),
    )
    .addColumn('task_index', 'integer', (column) => column.notNull())
    .addColumn('task_id', 'text', (column) => column.notNull())
    .addColumn('cluster', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('task', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('evaluation_tasks_key', ['evaluation_id', 'task_index'])
    .execute();
  await schema
    .createIndex('evaluation_tasks_id')
    .on('evaluation_tasks')
    .columns(['evaluation_id', 'task_id'])
    .unique()
    .execute();
}

async function createAttemptRows({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('evaluation_attempts')
    .addColumn('evaluation_id', 'text', (column) =>
      column.notNull().references('evaluations.evaluation_id').onDelete('cascade'),
    )
    .addColumn('attempt_index', 'integer', (column) => column.notNull())
    .addColumn('task_index', 'integer', (column) => column.notNull())
    .addColumn('model_index', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('trace_id', 'text')
    .addColumn('rerun', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('rerun_limit', 'integer', (column) => column.notNull().defaultTo(3))
    .addColumn('due_at', 'bigint')
    .addColumn('outcome', 'text')
    .addColumn('reward', 'double precision')
    .addColumn('steps', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('usage', 'text')
    .addColumn('prompt_tokens', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('completion_tokens', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('total_tokens', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('cost_usd', 'double precision')
    .addColumn('started_at', 'bigint')
    .addColumn('finished_at', 'bigint')
    .addColumn('duration_ms', 'bigint')
    .addColumn('error', 'text')
    .addColumn('environment_hash', 'text')
    .addColumn('earlier_usd', 'double precision')
    .addColumn('earlier_tokens', 'bigint', (column) => column.notNull().defaultTo(0))
    // The order of lists and reports.
    .addPrimaryKeyConstraint('evaluation_attempts_key', ['evaluation_id', 'task_index', 'model_index', 'attempt_index'])
    .execute();
  await schema
    .createIndex('evaluation_attempts_trace')
    .on('evaluation_attempts')
    .column('trace_id')
    .unique()
    .where(sql<boolean>`trace_id is not null`)
    .execute();
  await schema
    .createIndex('evaluation_attempts_open')
    .on('evaluation_attempts')
    .columns(['evaluation_id', 'state', 'due_at'])
    .where(sql<boolean>`state <> 'done'`)
    .execute();
  await schema
    .createIndex('evaluation_attempts_over_budget')
    .on('evaluation_attempts')
    .column('evaluation_id')
    .where(sql<boolean>`outcome = 'over_budget'`)
    .execute();
}

async function createReservations({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('evaluation_reservations')
    .addColumn('reservation_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('trace_id', 'text', (column) => column.notNull())
    .addColumn('evaluation_id', 'text', (column) =>
      column.notNull().references('evaluations.evaluation_id').onDelete('cascade'),
    )
    .addColumn('usd', 'double precision', (column) => column.notNull())
    .addColumn('tokens', 'bigint', (column) => column.notNull())
    .addColumn('beat', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await schema
    .createIndex('evaluation_reservations_of')
    .on('evaluation_reservations')
    .column('evaluation_id')
    .execute();
  await schema.createIndex('evaluation_reservations_trace').on('evaluation_reservations').column('trace_id').execute();
}

async function createGatewayLimits({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('gateway_limits')
    .addColumn('gateway', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('call_limit', 'double precision', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('version', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('gateway_limits_key', ['gateway', 'model'])
    .execute();
  await schema
    .createTable('gateway_users')
    .addColumn('gateway', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('worker', 'text', (column) => column.notNull())
    .addColumn('wanted', 'integer', (column) => column.notNull())
    .addColumn('ceiling', 'integer', (column) => column.notNull())
    .addColumn('seen_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('gateway_users_key', ['gateway', 'model', 'worker'])
    .execute();
  await schema
    .createTable('gateway_limit_changes')
    .addColumn('gateway', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('version', 'bigint', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('call_limit', 'double precision', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('gateway_limit_changes_key', ['gateway', 'model', 'version'])
    .execute();
  await schema.createIndex('gateway_limit_changes_at').on('gateway_limit_changes').columns(['model', 'at']).execute();
}

/** Lists of traces filter by evaluation. Sums skip traces that were run again. */
async function linkTraces({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('traces').addColumn('evaluation_id', 'text').execute();
  await schema.alterTable('traces').addColumn('task_id', 'text').execute();
  await schema.alterTable('traces').addColumn('attempt_index', 'integer').execute();
  await schema
    .alterTable('traces')
    .addColumn('is_superseded', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await schema.alterTable('traces').addColumn('outcome', 'text').execute();
  await schema
    .createIndex('traces_evaluation')
    .on('traces')
    .columns(['evaluation_id', 'created_at', 'trace_id'])
    .where(sql<boolean>`evaluation_id is not null`)
    .execute();
  await schema
    .createIndex('traces_task')
    .on('traces')
    .columns(['evaluation_id', 'task_id'])
    .where(sql<boolean>`evaluation_id is not null`)
    .execute();
  await schema
    .createIndex('traces_ungraded')
    .on('traces')
    .columns(['account', 'outcome', 'created_at', 'trace_id'])
    .where(sql<boolean>`outcome <> 'graded'`)
    .execute();
  await schema
    .alterTable('outcomes')
    .addColumn('is_superseded', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await schema.dropIndex('traces_unfinished').execute();
  await schema
    .createIndex('traces_unfinished')
    .on('traces')
    .column('trace_id')
    .where(sql<boolean>`(status = 'queued' or status = 'running') and origin <> 'chat'`)
    .execute();
}
