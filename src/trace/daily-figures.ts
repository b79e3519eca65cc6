import { CompiledQuery, PostgresAdapter, sql } from 'kysely';
import type { DatabaseTransaction } from '../database/database.ts';
import type { DailyFiguresTable, OutcomesTable } from '../database/schema.ts';

/** Which columns each sum is kept by. A question is answered by the smallest that knows what it asks for. */
const DIMENSIONS = {
  none: [],
  env_name: ['env_name'],
  scenario_name: ['scenario_name'],
  model: ['model'],
  origin: ['origin'],
  key_id: ['key_id'],
  all: ['env_name', 'scenario_name', 'model', 'origin'],
} as const;
/** `tag`: one of the metadata. */
export type Dimension = keyof typeof DIMENSIONS | 'tag';

export const DAY_MS = 86_400_000;

const WAITING = 0;
export const COUNTED = 1;
const NEVER_COUNTED = 2;

/** Rewards beyond that are added up when they are asked for: taken out of a sum again, they would take smaller ones along. */
const MAX_COUNTED_REWARD = 1_000_000;
/** Outcomes that are counted at once. */
const MAX_BATCH = 2_000;
/** Of Postgres: only one counts at a time. */
const LOCK = 4_870_112_006;

/** Whether an outcome can be counted: what its `is_counted` begins with. */
export function countedAtFirst(reward: number | null): number {
  return Math.abs(reward ?? 0) <= MAX_COUNTED_REWARD ? WAITING : NEVER_COUNTED;
}

/**
 * Every 256th trace, whichever process ends it, counts what has ended since: its id is random. That is far cheaper than
 * counting each by itself, and nobody has to be told to do it.
 */
export function isTimeToCount(traceId: string): boolean {
  return traceId.endsWith('00');
}

/** Adds outcomes that wait to the figures of their days, unless another process is at it. @returns how many. */
export async function countOutcomes(transaction: DatabaseTransaction): Promise<number> {
  if (isPostgres(transaction)) {
    const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(${LOCK}) as mine`.execute(
      transaction,
    );
    if (rows[0]?.mine !== true) return 0;
  }
  let waiting = transaction
    .selectFrom('outcomes')
    .selectAll()
    .where(sql<boolean>`is_counted <> 1`) // as the index says it
    .where('is_counted', '=', WAITING)
    .limit(MAX_BATCH);
  if (isPostgres(transaction)) waiting = waiting.forUpdate().skipLocked();
  const outcomes = await waiting.execute();
  if (outcomes.length === 0) return 0;
  const ids = outcomes.map(({ trace_id }) => trace_id);
  await transaction.updateTable('outcomes').set({ is_counted: COUNTED }).where('trace_id', 'in', ids).execute();
  const tags = await readTags(transaction, ids);
  await addFigures(
    transaction,
    outcomes.flatMap((outcome) => toCounted(outcome, tags.get(outcome.trace_id) ?? [])),
  );
  return outcomes.length;
}

/**
 * Takes a deleted trace, if it was counted, out of what the traces say. What it has used stays.
 *
 * @param tags what `readTags` gave before it was deleted.
 */
export async function uncountOutcome(
  transaction: DatabaseTransaction,
  outcome: OutcomesTable,
  tags: readonly Tag[],
): Promise<void> {
  if (outcome.is_counted === COUNTED) await addFigures(transaction, toUncounted(outcome, tags));
}

/** One of the metadata of a trace. */
interface Tag {
  readonly tag_key: string;
  readonly tag_value: string;
}

/** The metadata of traces, by trace. */
export async function readTags(
  transaction: DatabaseTransaction,
  traceIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Tag[]>> {
  const rows = await transaction
    .selectFrom('trace_metadata')
    .select(['trace_id', 'key', 'value'])
    .where('trace_id', 'in', traceIds)
    .execute();
  const tags = new Map<string, Tag[]>();
  for (const { trace_id, key, value } of rows) {
    const known = tags.get(trace_id) ?? [];
    known.push({ tag_key: key, tag_value: value });
    tags.set(trace_id, known);
  }
  return tags;
}

function toCounted(outcome: OutcomesTable, tags: readonly Tag[]): DailyFiguresTable[] {
  const used = {
    used_runs: 1,
    used_model_calls: outcome.used_model_calls,
    used_prompt_tokens: outcome.used_prompt_tokens,
    used_completion_tokens: outcome.used_completion_tokens,
    used_total_tokens: outcome.used_total_tokens,
    used_ms: outcome.used_ms,
  };
  return toKeys(outcome, tags).map((key) => ({
    ...key,
    ...saidBy(outcome, outcome.is_deleted === 0 ? 1 : 0),
    ...used,
  }));
}

const USED_NOTHING = {
  used_runs: 0,
  used_model_calls: 0,
  used_prompt_tokens: 0,
  used_completion_tokens: 0,
  used_total_tokens: 0,
  used_ms: 0,
};

function toUncounted(outcome: OutcomesTable, tags: readonly Tag[]): DailyFiguresTable[] {
  return toKeys(outcome, tags).map((key) => ({ ...key, ...saidBy(outcome, -1), ...USED_NOTHING }));
}

function saidBy(outcome: OutcomesTable, times: number) {
  return {
    traces: times,
    reward: times * (outcome.reward ?? 0),
    prompt_tokens: times * outcome.prompt_tokens,
    completion_tokens: times * outcome.completion_tokens,
    total_tokens: times * outcome.total_tokens,
  };
}

/** Of the sums that an outcome is a part of: one for each dimension, and one for each of its metadata. */
function toKeys(outcome: OutcomesTable, tags: readonly Tag[]) {
  const { account, status, created_at, reward_class } = outcome;
  const values = {
    env_name: outcome.env_name,
    scenario_name: outcome.scenario_name,
    model: outcome.model,
    origin: outcome.origin,
    key_id: outcome.key_id ?? '',
  };
  const day = Math.floor(created_at / DAY_MS);
  const rest = { day, status, reward_class };
  const ofColumns = Object.entries(DIMENSIONS).map(([dimension, columns]) => {
    const kept = { ...KEPT_NOTHING };
    for (const column of columns) kept[column] = values[column];
    return { account, dimension, ...kept, ...rest };
  });
  return [...ofColumns, ...tags.map((tag) => ({ account, dimension: 'tag', ...KEPT_NOTHING, ...tag, ...rest }))];
}

const KEPT_NOTHING = { env_name: '', scenario_name: '', model: '', origin: '', key_id: '', tag_key: '', tag_value: '' };

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

const SUMS = [
  'traces',
  'reward',
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'used_runs',
  'used_model_calls',
  'used_prompt_tokens',
  'used_completion_tokens',
  'used_total_tokens',
  'used_ms',
] as const;

/** In the order of their keys, so that two transactions do not wait for each other. */
async function addFigures(transaction: DatabaseTransaction, figures: readonly DailyFiguresTable[]): Promise<void> {
  const rows = [...addUp(figures)].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
  if (rows.length === 0) return;
  if (isPostgres(transaction)) {
    const arrays = COLUMNS.map((column) => rows.map((row) => row[column]));
    await transaction.executeQuery(CompiledQuery.raw(ADD_ON_POSTGRES, arrays));
    return;
  }
  for (const row of rows) {
    const values = COLUMNS.map((column) => row[column]);
    await transaction.executeQuery(CompiledQuery.raw(ADD_ON_SQLITE, values));
  }
}

const COLUMNS = [...KEY, ...SUMS];

/** Of nothing it is 0, whatever adding and taking away has left by rounding. */
const NEW_REWARD = `case when daily_figures.traces + excluded.traces = 0 then 0
  else daily_figures.reward + excluded.reward end`;

/** Written once as text: to build such a statement of thousands of values takes longer than to execute it. */
const ADD = (source: string) => `
  insert into daily_figures (${COLUMNS.join(', ')}) ${source} on conflict (${KEY.join(', ')}) do update set
  ${SUMS.map((sum) => `${sum} = ${sum === 'reward' ? NEW_REWARD : `daily_figures.${sum} + excluded.${sum}`}`).join(', ')}`;

const ADD_ON_SQLITE = ADD(`values (${COLUMNS.map(() => '?').join(', ')})`);
const ADD_ON_POSTGRES = ADD(
  `select * from unnest(${COLUMNS.map((column, index) => `$${index + 1}::${typeOf(column)}[]`).join(', ')})`,
);

function typeOf(column: (typeof COLUMNS)[number]): string {
  if (column === 'reward') return 'float8';
  if (column === 'day' || column === 'reward_class') return 'int4';
  return KEY.some((each) => each === column) ? 'text' : 'int8';
}

function isPostgres(transaction: DatabaseTransaction): boolean {
  return transaction.getExecutor().adapter instanceof PostgresAdapter;
}

function addUp(figures: readonly DailyFiguresTable[]): Map<string, DailyFiguresTable> {
  const sums = new Map<string, DailyFiguresTable>();
  for (const each of figures) {
    const key = KEY.map((column) => each[column]).join('\0');
    const known = sums.get(key);
    if (known === undefined) sums.set(key, { ...each });
    else for (const column of SUMS) known[column] += each[column];
  }
  return sums;
}
