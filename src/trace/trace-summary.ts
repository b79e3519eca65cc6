import { type Kysely, type SqlBool, sql } from 'kysely';
import type { TraceFigures } from '../contract/figures.ts';
import { type RunStatus, runStatusSchema } from '../contract/run.ts';
import type { DatabaseSchema } from '../database/schema.ts';
import { NO_REWARD_BIN, REWARD_BINS } from './outcome-rows.ts';
import { UNFINISHED } from './trace-rows.ts';
import type { TraceQuery } from './trace-store.ts';

/** The filters of a list, without its order and its pages. */
export type TraceFilters = Omit<TraceQuery, 'sort' | 'limit' | 'cursor'>;

type Queries = Kysely<DatabaseSchema>;

/** Traces of one status and one tenth of the reward, added up. */
interface Cell {
  readonly status: RunStatus;
  readonly bin: number;
  readonly count: number;
  readonly reward: number;
  readonly passed: number;
  readonly prompt: number;
  readonly completion: number;
  readonly total: number;
}

/** What the traces that the filters let through come to. Tokens are those of last attempts, as the traces say. */
export async function summarizeTraces(queries: Queries, filters: TraceFilters): Promise<TraceFigures> {
  const cells = [...(await finishedCells(queries, filters)), ...(await unfinishedCells(queries, filters))];
  const rewarded = cells.filter(({ bin }) => bin !== NO_REWARD_BIN);
  const count = sumOf(rewarded, ({ count }) => count);
  const byStatus = Object.fromEntries(
    runStatusSchema.options.map((status) => [
      status,
      sumOf(cells, (cell) => (cell.status === status ? cell.count : 0)),
    ]),
  );
  return {
    object: 'summary',
    count: sumOf(cells, ({ count }) => count),
    by_status: byStatus as Record<RunStatus, number>, // One entry for each of them.
    mean_reward: count === 0 ? null : sumOf(rewarded, ({ reward }) => reward) / count,
    pass_rate: count === 0 ? null : sumOf(rewarded, ({ passed }) => passed) / count,
    histogram: Array.from({ length: REWARD_BINS }, (_, bin) =>
      sumOf(rewarded, (cell) => (cell.bin === bin ? cell.count : 0)),
    ),
    tokens: {
      prompt: sumOf(cells, ({ prompt }) => prompt),
      completion: sumOf(cells, ({ completion }) => completion),
      total: sumOf(cells, ({ total }) => total),
    },
  };
}

async function finishedCells(queries: Queries, filters: TraceFilters): Promise<Cell[]> {
  let rows = queries
    .selectFrom('outcomes as row')
    .select(['row.status', 'row.reward_bin'])
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      fn.sum<number | null>('row.reward').as('reward'),
      sql<number>`sum(case when ${sql.ref('row.reward')} >= 1 then 1 else 0 end)`.as('passed'),
      fn.sum<number>('row.prompt_tokens').as('prompt'),
      fn.sum<number>('row.completion_tokens').as('completion'),
      fn.sum<number>('row.total_tokens').as('total'),
    ])
    .where('row.is_deleted', '=', 0)
    .groupBy(['row.status', 'row.reward_bin']);
  if (filters.minReward !== undefined) rows = rows.where('row.reward', '>=', filters.minReward);
  if (filters.maxReward !== undefined) rows = rows.where('row.reward', '<=', filters.maxReward);
  const found = await rows.where(matches(filters)).execute();
  return found.map((row) => ({
    status: row.status as RunStatus, // Rows hold what this layer wrote.
    bin: row.reward_bin,
    count: Number(row.count),
    reward: Number(row.reward ?? 0),
    passed: Number(row.passed),
    prompt: Number(row.prompt),
    completion: Number(row.completion),
    total: Number(row.total),
  }));
}

/** They have no figures yet: they are counted alone. A range of rewards leaves them out. */
async function unfinishedCells(queries: Queries, filters: TraceFilters): Promise<Cell[]> {
  const { status, minReward, maxReward } = filters;
  if (minReward !== undefined || maxReward !== undefined) return [];
  if (status !== undefined && !UNFINISHED.includes(status)) return [];
  const found = await queries
    .selectFrom('traces as row')
    .select('row.status')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('row.status', 'in', UNFINISHED)
    .where(matches(filters))
    .groupBy('row.status')
    .execute();
  const nothing = { bin: NO_REWARD_BIN, reward: 0, passed: 0, prompt: 0, completion: 0, total: 0 };
  return found.map((row) => ({ ...nothing, status: row.status as RunStatus, count: Number(row.count) }));
}

/** What a trace's row and its figures have in common. */
function matches(filters: TraceFilters) {
  const conditions = [
    ...equals('account', filters.account),
    ...equals('env_name', filters.envName),
    ...equals('scenario_name', filters.scenarioName),
    ...equals('model', filters.model),
    ...equals('status', filters.status),
    ...equals('origin', filters.origin),
    ...(filters.since === undefined ? [] : [sql<SqlBool>`${sql.ref('row.created_at')} >= ${filters.since}`]),
    ...(filters.until === undefined ? [] : [sql<SqlBool>`${sql.ref('row.created_at')} <= ${filters.until}`]),
    ...Object.entries(filters.metadata ?? {}).map(
      ([key, value]) => sql<SqlBool>`exists (
        select 1 from trace_metadata as tag
        where tag.trace_id = ${sql.ref('row.trace_id')} and tag.key = ${key} and tag.value = ${value})`,
    ),
  ];
  return conditions.length === 0 ? sql<SqlBool>`1 = 1` : sql.join<SqlBool>(conditions, sql` and `);
}

function equals(column: string, value: string | undefined) {
  return value === undefined ? [] : [sql<SqlBool>`${sql.ref(`row.${column}`)} = ${value}`];
}

function sumOf<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}
