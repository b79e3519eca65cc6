import { type Kysely, SqliteAdapter, sql } from 'kysely';

/** Rows that a step reads at once. */
const PAGE = 500;

const BLOB_REFERENCE = /svc-blob:\/\/sha256\/([0-9a-f]{64})/g;

/**
 * What the whole API of the run service stands on: the key of each run, the figures of finished ones in rows that are
 * small enough to be summed up, and which trace refers to which blob.
 */
export async function createServiceTables(database: Kysely<unknown>): Promise<void> {
  const { schema } = database;
  await schema.alterTable('traces').addColumn('key_id', 'text').execute();
  // A part of the rows: those are few, and what is asked is how many of a key there are.
  await schema
    .createIndex('traces_key_queued')
    .on('traces')
    .column('key_id')
    .where(sql<boolean>`status = 'queued' and key_id is not null`)
    .execute();
  await schema.createIndex('idempotency_keys_expiry').on('idempotency_keys').column('expires_at').execute();
  await createOutcomes(database);
  await createTraceBlobs(database);
}

/**
 * Without a reference to the trace: what a deleted one has used stays used. Their key is the order in which a summary
 * adds them up: SQLite then reads them as they lie, a million in a quarter of a second, where it would have to sort.
 */
async function createOutcomes(database: Kysely<unknown>): Promise<void> {
  const { schema } = database;
  const isSqlite = database.getExecutor().adapter instanceof SqliteAdapter;
  await schema
    .createTable('outcomes')
    .addColumn('trace_id', 'text', (column) => column.notNull().unique())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text')
    .addColumn('env_name', 'text', (column) => column.notNull())
    .addColumn('scenario_name', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('origin', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('reward', 'double precision')
    .addColumn('reward_bin', 'integer', (column) => column.notNull())
    .addColumn('prompt_tokens', 'bigint', (column) => column.notNull())
    .addColumn('completion_tokens', 'bigint', (column) => column.notNull())
    .addColumn('total_tokens', 'bigint', (column) => column.notNull())
    .addColumn('used_model_calls', 'bigint', (column) => column.notNull())
    .addColumn('used_prompt_tokens', 'bigint', (column) => column.notNull())
    .addColumn('used_completion_tokens', 'bigint', (column) => column.notNull())
    .addColumn('used_total_tokens', 'bigint', (column) => column.notNull())
    .addColumn('used_ms', 'bigint', (column) => column.notNull())
    .addColumn('is_deleted', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('outcomes_key', [
      'account',
      'is_deleted',
      'status',
      'reward_bin',
      'created_at',
      'trace_id',
    ])
    .$call((table) => (isSqlite ? table.modifyEnd(sql`without rowid`) : table))
    .execute();
  await fillOutcomes(database);
}

interface FinishedTrace {
  readonly trace_id: string;
  readonly account: string;
  readonly env_name: string;
  readonly scenario_name: string;
  readonly model: string;
  readonly origin: string;
  readonly status: string;
  readonly created_at: number;
  readonly reward: number | null;
  readonly summary: string;
}

/** Of traces that are there already, by what their row says: the last attempt's. */
async function fillOutcomes(database: Kysely<unknown>): Promise<void> {
  for (let after = ''; ; ) {
    const { rows } = await sql<FinishedTrace>`
      select trace_id, account, env_name, scenario_name, model, origin, status, created_at, reward, summary
      from traces where summary is not null and trace_id > ${after} order by trace_id limit ${PAGE}`.execute(database);
    for (const { summary, ...row } of rows) {
      const { usage, timing } = JSON.parse(summary);
      const bin = row.reward === null ? -1 : Math.min(9, Math.max(0, Math.floor(row.reward * 10)));
      await sql`
        insert into outcomes (trace_id, account, env_name, scenario_name, model, origin, status, created_at, reward,
          reward_bin, prompt_tokens, completion_tokens, total_tokens, used_model_calls, used_prompt_tokens,
          used_completion_tokens, used_total_tokens, used_ms, is_deleted)
        values (${row.trace_id}, ${row.account}, ${row.env_name}, ${row.scenario_name}, ${row.model}, ${row.origin},
          ${row.status}, ${row.created_at}, ${row.reward}, ${bin}, ${usage.prompt_tokens}, ${usage.completion_tokens},
          ${usage.total_tokens}, ${usage.model_calls}, ${usage.prompt_tokens}, ${usage.completion_tokens},
          ${usage.total_tokens}, ${Math.max(0, timing.total_ms - timing.queued_ms)}, 0)`.execute(database);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = last.trace_id;
  }
}

async function createTraceBlobs(database: Kysely<unknown>): Promise<void> {
  const { schema } = database;
  await schema
    .createTable('trace_blobs')
    .addColumn('trace_id', 'text', (column) => column.notNull().references('traces.trace_id').onDelete('cascade'))
    .addColumn('sha256', 'text', (column) => column.notNull().references('blobs.sha256'))
    .addPrimaryKeyConstraint('trace_blobs_key', ['trace_id', 'sha256'])
    .execute();
  await schema.createIndex('trace_blobs_blob').on('trace_blobs').columns(['sha256', 'trace_id']).execute();
  await fillTraceBlobs(database);
}

async function fillTraceBlobs(database: Kysely<unknown>): Promise<void> {
  const known = new Set((await sql<{ sha256: string }>`select sha256 from blobs`.execute(database)).rows.map(toSha256));
  if (known.size === 0) return;
  const { rows: traces } = await sql<{ trace_id: string }>`
    select distinct trace_id from events where body like '%svc-blob://sha256/%'`.execute(database);
  for (const { trace_id } of traces) {
    const { rows } = await sql<{ body: string }>`
      select body from events where trace_id = ${trace_id} and body like '%svc-blob://sha256/%'`.execute(database);
    const named = rows.flatMap(({ body }) => [...body.matchAll(BLOB_REFERENCE)].map((match) => match[1] ?? ''));
    for (const sha256 of new Set(named.filter((name) => known.has(name)))) {
      await sql`insert into trace_blobs (trace_id, sha256) values (${trace_id}, ${sha256})`.execute(database);
    }
  }
}

function toSha256({ sha256 }: { readonly sha256: string }): string {
  return sha256;
}
