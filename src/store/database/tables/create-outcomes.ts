import { type Kysely, SqliteAdapter, sql } from 'kysely';

/**
 * Creates a table with one small row for each finished trace, for sums. It has no foreign key to the trace, because
 * usage counts deleted traces too. The primary key has the order in which a summary reads, so that SQLite needs no
 * sort.
 */
export async function createOutcomes(database: Kysely<unknown>): Promise<void> {
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
}
