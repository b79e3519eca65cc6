import { type Kysely, SqliteAdapter, sql } from 'kysely';

/**
 * The figures of each day, added up, so that a sum over a million traces reads some thousand rows. Outcomes are counted
 * into it in batches (trace/daily-figures.ts); those that are not yet are found by an index of their own.
 */
export async function createDailyFigures(database: Kysely<unknown>): Promise<void> {
  const { schema } = database;
  const isSqlite = database.getExecutor().adapter instanceof SqliteAdapter;
  await schema
    .createTable('daily_figures')
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('dimension', 'text', (column) => column.notNull())
    .addColumn('env_name', 'text', (column) => column.notNull())
    .addColumn('scenario_name', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('origin', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('tag_key', 'text', (column) => column.notNull())
    .addColumn('tag_value', 'text', (column) => column.notNull())
    .addColumn('day', 'integer', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('reward_class', 'integer', (column) => column.notNull())
    .addColumn('traces', 'bigint', (column) => column.notNull())
    .addColumn('reward', 'double precision', (column) => column.notNull())
    .addColumn('prompt_tokens', 'bigint', (column) => column.notNull())
    .addColumn('completion_tokens', 'bigint', (column) => column.notNull())
    .addColumn('total_tokens', 'bigint', (column) => column.notNull())
    .addColumn('used_runs', 'bigint', (column) => column.notNull())
    .addColumn('used_model_calls', 'bigint', (column) => column.notNull())
    .addColumn('used_prompt_tokens', 'bigint', (column) => column.notNull())
    .addColumn('used_completion_tokens', 'bigint', (column) => column.notNull())
    .addColumn('used_total_tokens', 'bigint', (column) => column.notNull())
    .addColumn('used_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('daily_figures_key', [...KEY])
    .$call((table) => (isSqlite ? table.modifyEnd(sql`without rowid`) : table))
    .execute();
  await schema
    .alterTable('outcomes')
    .addColumn('is_counted', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await schema.alterTable('outcomes').renameColumn('reward_bin', 'reward_class').execute();
  await classifyOutcomes(database);
  await fillDailyFigures(database);
  await schema
    .createIndex('outcomes_uncounted')
    .on('outcomes')
    .columns(['is_counted', 'account', 'created_at'])
    .where(sql<boolean>`is_counted <> 1`)
    .execute();
}

// Written out, though trace/daily-figures.ts has them too: what a step made does not change when that does.
const KEY = [
  'account',
  'dimension',
  'env_name',
  'scenario_name',
  'model',
  'origin',
  'key_id',
  'tag_key',
  'tag_value',
  'day',
  'status',
  'reward_class',
] as const;

/** Which columns each sum is kept by, beside account, day, status and class of the reward. */
const DIMENSIONS: Readonly<Record<string, readonly string[]>> = {
  none: [],
  env_name: ['env_name'],
  scenario_name: ['scenario_name'],
  model: ['model'],
  origin: ['origin'],
  key_id: ['key_id'],
  all: ['env_name', 'scenario_name', 'model', 'origin'],
};

/** Rewards beyond that are never added up: taken out again, they would take smaller ones along. */
const MAX_COUNTED_REWARD = 1_000_000;

/** Of traces that are there already. */
async function classifyOutcomes(database: Kysely<unknown>): Promise<void> {
  await sql`
    update outcomes set reward_class = ${REWARD_CLASS},
      is_counted = case when abs(coalesce(reward, 0)) <= ${sql.lit(MAX_COUNTED_REWARD)} then 1 else 2 end`.execute(
    database,
  );
}

/** Adds up all outcomes that say that they are counted, into an empty table. */
export async function fillDailyFigures(database: Kysely<unknown>): Promise<void> {
  for (const [dimension, kept] of Object.entries(DIMENSIONS)) await fillDimension(database, dimension, kept);
  await fillDimension(database, 'tag', [], {
    tag: sql`tags.key, tags.value`,
    source: sql`outcomes join trace_metadata as tags on tags.trace_id = outcomes.trace_id`,
  });
}

async function fillDimension(
  database: Kysely<unknown>,
  dimension: string,
  kept: readonly string[],
  { tag = sql`'', ''`, source = sql`outcomes` } = {},
): Promise<void> {
  const columns = ['env_name', 'scenario_name', 'model', 'origin', 'key_id'].map((column) =>
    kept.includes(column) ? sql`coalesce(${sql.ref(column)}, '')` : sql`''`,
  );
  await sql`
    insert into daily_figures (account, dimension, env_name, scenario_name, model, origin, key_id, tag_key, tag_value, day, status,
      reward_class, traces, reward, prompt_tokens, completion_tokens, total_tokens, used_runs, used_model_calls,
      used_prompt_tokens, used_completion_tokens, used_total_tokens, used_ms)
    select outcomes.account, ${sql.lit(dimension)}, ${sql.join(columns)}, ${tag}, outcomes.created_at / 86400000, status,
      reward_class, sum(1 - is_deleted), sum(case when is_deleted = 1 then 0 else coalesce(reward, 0) end),
      sum((1 - is_deleted) * prompt_tokens), sum((1 - is_deleted) * completion_tokens),
      sum((1 - is_deleted) * total_tokens), count(*), sum(used_model_calls), sum(used_prompt_tokens),
      sum(used_completion_tokens), sum(used_total_tokens), sum(used_ms)
    from ${source} where is_counted = 1
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12`.execute(database);
}

/** Of a tenth: -1 without a reward, 0 below 0, 1 of 0, 2 to 11 the tenths between, 12 of 1, 13 above. */
const REWARD_CLASS = sql`case when reward is null then -1 when reward < 0 then 0 when reward = 0 then 1
  when reward > 1 then 13 when reward = 1 then 12 else reward_class + 2 end`;
