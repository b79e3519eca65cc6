import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { TraceFigures } from '../contract/figures.ts';
import { type RunStatus, runStatusSchema } from '../contract/run.ts';
import type { DatabaseSchema } from '../database/schema.ts';
import { and, columnConditions, createdIn, metadataConditions, toFigureParts } from './figure-parts.ts';
import { binOfClass, isPassed, NO_REWARD, REWARD_BINS } from './reward-classes.ts';
import type { TraceFilters } from './trace-filters.ts';
import { UNFINISHED } from './trace-rows.ts';

type Queries = Kysely<DatabaseSchema>;

/** Traces that are rather looked up one by one than found among all. */
const MAX_RARE = 20_000;

/** Traces of one status and one class of the reward, added up. */
interface Cell {
  readonly status: RunStatus;
  readonly rewardClass: number;
  readonly count: number;
  readonly reward: number;
  readonly prompt: number;
  readonly completion: number;
  readonly total: number;
}

/** What the traces that the filters let through come to. Tokens are those of last attempts, as the traces say. */
export async function summarizeTraces(queries: Queries, filters: TraceFilters): Promise<TraceFigures> {
  const cells = await readCells(queries, filters);
  const rewarded = cells.filter(({ rewardClass }) => rewardClass !== NO_REWARD);
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
    pass_rate: count === 0 ? null : sumOf(rewarded, (cell) => (isPassed(cell.rewardClass) ? cell.count : 0)) / count,
    histogram: Array.from({ length: REWARD_BINS }, (_, bin) =>
      sumOf(rewarded, (cell) => (binOfClass(cell.rewardClass) === bin ? cell.count : 0)),
    ),
    tokens: {
      prompt: sumOf(cells, ({ prompt }) => prompt),
      completion: sumOf(cells, ({ completion }) => completion),
      total: sumOf(cells, ({ total }) => total),
    },
  };
}

/** In one statement, so that a trace that ends meanwhile is counted once. */
async function readCells(queries: Queries, filters: TraceFilters): Promise<Cell[]> {
  const isRare = await isRareMetadata(queries, filters);
  const parts = [...finishedParts(filters, isRare), ...unfinishedParts(filters)];
  const { rows } = await sql<Cell>`${sql.join(parts, sql` union all `)}`.execute(queries);
  return rows.map((row) => ({
    status: row.status,
    rewardClass: row.rewardClass,
    count: Number(row.count),
    reward: Number(row.reward),
    prompt: Number(row.prompt),
    completion: Number(row.completion),
    total: Number(row.total),
  }));
}

function finishedParts(filters: TraceFilters, isRareMetadata: boolean): RawBuilder<unknown>[] {
  if (filters.status !== undefined && UNFINISHED.includes(filters.status)) return [];
  const { days, outcomes } = toFigureParts(filters, { isRareMetadata });
  const ofDays =
    days === undefined
      ? []
      : [
          sql`select row.status as status, row.reward_class as "rewardClass", sum(row.traces) as count,
                sum(row.reward) as reward, sum(row.prompt_tokens) as prompt, sum(row.completion_tokens) as completion,
                sum(row.total_tokens) as total
              from daily_figures as row where ${days} group by row.status, row.reward_class`,
        ];
  // The sign keeps SQLite from reading all that are not deleted, where those that are not counted have their own index.
  const ofOutcomes = outcomes.map(
    (condition) => sql`
      select row.status as status, row.reward_class as "rewardClass", count(*) as count,
        coalesce(sum(row.reward), 0) as reward, sum(row.prompt_tokens) as prompt,
        sum(row.completion_tokens) as completion, sum(row.total_tokens) as total
      from outcomes as row where +row.is_deleted = 0 and ${condition} group by row.status, row.reward_class`,
  );
  return [...ofDays, ...ofOutcomes];
}

/** They have no figures yet: they are counted alone. A range of rewards leaves them out. */
function unfinishedParts(filters: TraceFilters): RawBuilder<unknown>[] {
  const { status, minReward, maxReward } = filters;
  if (minReward !== undefined || maxReward !== undefined) return [];
  if (status !== undefined && !UNFINISHED.includes(status)) return [];
  const condition = and(
    ...columnConditions(filters, ['env_name', 'scenario_name', 'model', 'origin']),
    ...createdIn(filters),
    ...metadataConditions(filters, false),
  );
  return [
    sql`select row.status as status, ${sql.lit(NO_REWARD)} as "rewardClass", count(*) as count, 0 as reward,
          0 as prompt, 0 as completion, 0 as total
        from traces as row where row.status in (${sql.join(UNFINISHED)}) and ${condition} group by row.status`,
  ];
}

/** Whether few traces have the first of the metadata. */
async function isRareMetadata(queries: Queries, { account, metadata = {} }: TraceFilters): Promise<boolean> {
  const [first] = Object.entries(metadata);
  if (first === undefined || account === undefined) return false;
  const [key, value] = first;
  const beyond = queries
    .selectFrom('trace_metadata')
    .select('created_at')
    .where('account', '=', account)
    .where('key', '=', key)
    .where('value', '=', value)
    .orderBy('created_at')
    .limit(1)
    .offset(MAX_RARE);
  return (await beyond.executeTakeFirst()) === undefined;
}

function sumOf<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}
