import { type Kysely, PostgresAdapter, sql } from 'kysely';
import { LOCAL_ACCOUNT } from '../../../contract/names.ts';
import { createOutcomes } from './create-outcomes.ts';

/** Creates every table. Both SQLite and Postgres understand the column types. */
export async function createSchema(database: Kysely<unknown>): Promise<void> {
  await createTraces(database);
  await createEvents(database);
  await createQueue(database);
  await createAccounts(database);
  await createChatSessions(database);
  await createOutcomes(database);
}

function isPostgres(database: Kysely<unknown>): boolean {
  return database.getExecutor().adapter instanceof PostgresAdapter;
}

async function createTraces({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('traces')
    .addColumn('trace_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('origin', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('attempt', 'integer', (column) => column.notNull())
    .addColumn('cancel_requested', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('env_name', 'text', (column) => column.notNull())
    .addColumn('scenario_name', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('reward', 'double precision')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('finished_at', 'bigint')
    .addColumn('duration_ms', 'bigint')
    .addColumn('total_tokens', 'bigint')
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('request', 'text', (column) => column.notNull())
    .addColumn('summary', 'text')
    .addColumn('key_id', 'text')
    .execute();
  await schema
    .createTable('trace_metadata')
    .addColumn('trace_id', 'text', (column) => column.notNull().references('traces.trace_id').onDelete('cascade'))
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('trace_metadata_key', ['trace_id', 'key'])
    .execute();

  // A list belongs to one account. Each filter and each sort is then a range of one index, in the order of its pages.
  for (const [name, columns] of Object.entries({
    newest: ['created_at', 'trace_id'],
    account_newest: ['account', 'created_at', 'trace_id', 'reward'], // A range of rewards is read in this order.
    account_environment: ['account', 'env_name', 'created_at', 'trace_id'],
    account_scenario: ['account', 'scenario_name', 'created_at', 'trace_id'],
    account_model: ['account', 'model', 'created_at', 'trace_id'],
    account_status: ['account', 'status', 'created_at', 'trace_id'],
    account_origin: ['account', 'origin', 'created_at', 'trace_id'],
    account_reward: ['account', 'reward', 'created_at', 'trace_id'],
    account_duration: ['account', 'duration_ms', 'created_at', 'trace_id'],
    account_tokens: ['account', 'total_tokens', 'created_at', 'trace_id'],
  })) {
    await schema.createIndex(`traces_${name}`).on('traces').columns(columns).execute();
  }
  // These indexes are partial, because few runs of a key wait and few runs are unfinished.
  await schema
    .createIndex('traces_key_queued')
    .on('traces')
    .column('key_id')
    .where(sql<boolean>`status = 'queued' and key_id is not null`)
    .execute();
  await schema
    .createIndex('traces_unfinished')
    .on('traces')
    .column('trace_id')
    .where(sql<boolean>`(status = 'queued' or status = 'running') and origin = 'run'`)
    .execute();
  await schema
    .createIndex('trace_metadata_value')
    .on('trace_metadata')
    .columns(['account', 'key', 'value', 'created_at', 'trace_id'])
    .execute();
}

/**
 * The primary key of `events` keeps two writers of a trace apart (store/traces/append-events.ts). The foreign key stops
 * writers from recreating a deleted trace.
 */
async function createEvents(database: Kysely<unknown>): Promise<void> {
  const { schema } = database;
  await schema
    .createTable('events')
    .addColumn('trace_id', 'text', (column) => column.notNull().references('traces.trace_id').onDelete('cascade'))
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('attempt', 'integer', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('events_key', ['trace_id', 'seq'])
    .execute();
  await schema
    .createTable('blobs')
    .addColumn('sha256', 'text', (column) => column.primaryKey().notNull())
    .addColumn('mime_type', 'text', (column) => column.notNull())
    .addColumn('bytes', isPostgres(database) ? 'bytea' : 'blob', (column) => column.notNull())
    .execute();
  await schema
    .createTable('trace_blobs')
    .addColumn('trace_id', 'text', (column) => column.notNull().references('traces.trace_id').onDelete('cascade'))
    .addColumn('sha256', 'text', (column) => column.notNull().references('blobs.sha256'))
    .addPrimaryKeyConstraint('trace_blobs_key', ['trace_id', 'sha256'])
    .execute();
  await schema.createIndex('trace_blobs_blob').on('trace_blobs').columns(['sha256', 'trace_id']).execute();
}

/** Workers look many times a second for the next entry of a group and for expired leases. Each query has an index. */
async function createQueue({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('queue')
    .addColumn('trace_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('priority', 'integer', (column) => column.notNull())
    .addColumn('enqueued_at', 'bigint', (column) => column.notNull())
    .addColumn('leased_by', 'text')
    .addColumn('lease_token', 'text')
    .addColumn('lease_until', 'bigint')
    .addColumn('is_redelivered', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('env_name', 'text', (column) => column.notNull().defaultTo(''))
    .addColumn('key_id', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  await schema
    .createIndex('queue_next')
    .on('queue')
    .columns(['priority desc', 'enqueued_at', 'trace_id', 'lease_until'])
    .execute();
  await schema
    .createIndex('queue_groups')
    .on('queue')
    .columns(['env_name', 'key_id', 'priority desc', 'enqueued_at', 'trace_id'])
    .where(sql<boolean>`lease_until is null`)
    .execute();
  await schema
    .createIndex('queue_leased')
    .on('queue')
    .columns(['priority desc', 'enqueued_at', 'trace_id', 'lease_until'])
    .where(sql<boolean>`lease_until is not null`)
    .execute();
  await schema
    .createTable('run_claims')
    .addColumn('trace_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .execute();
  await schema.createIndex('run_claims_key').on('run_claims').columns(['key_id']).execute();
}

async function createAccounts({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('key_hash', 'text', (column) => column.notNull().unique())
    .addColumn('requests_per_minute', 'integer')
    .addColumn('concurrent_runs', 'integer')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('revoked_at', 'bigint')
    .execute();
  await schema
    .createTable('sign_in_tokens')
    .addColumn('token_hash', 'text', (column) => column.primaryKey().notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
  await schema
    .createTable('browser_sessions')
    .addColumn('session_hash', 'text', (column) => column.primaryKey().notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
}

async function createChatSessions({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('chat_sessions')
    .addColumn('session_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('trace_id', 'text', (column) => column.notNull())
    .addColumn('server', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('scenario', 'text', (column) => column.notNull())
    .addColumn('scenario_args', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('last_active_at', 'bigint', (column) => column.notNull())
    .addColumn('turns', 'integer', (column) => column.notNull())
    .addColumn('steps', 'integer', (column) => column.notNull())
    .addColumn('result', 'text')
    .addColumn('message', 'text')
    .addColumn('account', 'text', (column) => column.notNull().defaultTo(LOCAL_ACCOUNT))
    .addColumn('seen_at', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await schema.createIndex('chat_sessions_account').on('chat_sessions').columns(['account', 'created_at']).execute();
  await schema.createIndex('chat_sessions_status').on('chat_sessions').columns(['status', 'created_at']).execute();
  await schema
    .createTable('idempotency_keys')
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('request_hash', 'text', (column) => column.notNull())
    .addColumn('response', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('idempotency_keys_key', ['scope', 'key'])
    .execute();
  await schema.createIndex('idempotency_keys_expiry').on('idempotency_keys').column('expires_at').execute();
}
