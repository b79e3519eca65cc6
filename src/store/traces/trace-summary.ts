import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type RunStatus, runStatusSchema } from '../../contract/service/run.ts';
import type { TotalsGroupBy, TraceTotals } from '../../contract/service/totals.ts';
import type { DatabaseSchema } from '../database/tables/schema.ts';
import {
  and,
  columnConditions,
  createdIn,
  metadataConditions,
  ofTracesWith,
  rewardColumns,
  rewardConditions,
  traceConditions,
  withoutBeside,
} from './rows/outcome-conditions.ts';
import { HISTOGRAM_BINS, isPassed, NO_REWARD, toHistogramBin } from './rows/reward-bins.ts';
import type { SummaryOptions, TraceFilters } from './rows/trace-filters.ts';
import { UNFINISHED } from './rows/trace-rows.ts';

type Queries = Kysely<DatabaseSchema>;

/** Largest number of traces that are looked up one by one. For more, all traces are scanned. */
const MAX_RARE = 20_000;

/** Largest number of groups in an answer: a person cannot choose among more. */
const MAX_GROUPS = 500;

const COLUMN_OF = { env: 'env_name', scenario: 'scenario_name', model: 'model', origin: 'origin' } as const;
type GroupColumn = (typeof COLUMN_OF)[TotalsGroupBy];

/** Sums over the traces of one group, one status and one bin of the reward. */
interface Cell {
  /** Null without `groupBy`. */
  readonly group: string | null;
  readonly status: RunStatus;
  readonly rewardBin: number;
  readonly count: number;
  readonly reward: number;
  readonly prompt: number;
  readonly completion: number;
  readonly total: number;
}

/**
 * Sums over the traces that match the filters, without superseded attempts. Tokens are those of each trace's last
 * attempt.
 */
export async function summarizeTraces(
  queries: Queries,
  filters: TraceFilters,
  { groupBy }: SummaryOptions = {},
): Promise<TraceTotals> {
  const cells = await readCells(queries, filters, groupBy && COLUMN_OF[groupBy]);
  const rewarded = cells.filter(hasReward);
  const byStatus = Object.fromEntries(
    runStatusSchema.options.map((status) => [
      status,
      sumOf(cells, (cell) => (cell.status === status ? cell.count : 0)),
    ]),
  );
  return {
    object: 'summary',
    ...toRewardTotals(cells),
    by_status: byStatus as Record<RunStatus, number>, // Every status has an entry.
    histogram: Array.from({ length: HISTOGRAM_BINS }, (_, bin) =>
      sumOf(rewarded, (cell) => (toHistogramBin(cell.rewardBin) === bin ? cell.count : 0)),
    ),
    tokens: {
      prompt: sumOf(cells, ({ prompt }) => prompt),
      completion: sumOf(cells, ({ completion }) => completion),
      total: sumOf(cells, ({ total }) => total),
    },
    ...(groupBy === undefined ? {} : { groups: toGroups(cells) }),
  };
}

function hasReward({ rewardBin }: Cell): boolean {
  return rewardBin !== NO_REWARD;
}

function toRewardTotals(cells: readonly Cell[]) {
  const rewarded = cells.filter(hasReward);
  const count = sumOf(rewarded, (cell) => cell.count);
  const passed = sumOf(rewarded, (cell) => (isPassed(cell.rewardBin) ? cell.count : 0));
  return {
    count: sumOf(cells, (cell) => cell.count),
    with_reward: count,
    mean_reward: count === 0 ? null : sumOf(rewarded, ({ reward }) => reward) / count,
    pass_rate: count === 0 ? null : passed / count,
  };
}

function toGroups(cells: readonly Cell[]): NonNullable<TraceTotals['groups']> {
  const byGroup = new Map<string, Cell[]>();
  for (const cell of cells) {
    const known = byGroup.get(cell.group ?? '');
    if (known === undefined) byGroup.set(cell.group ?? '', [cell]);
    else known.push(cell);
  }
  return [...byGroup]
    .map(([group, ofGroup]) => ({ group, ...toRewardTotals(ofGroup) }))
    .sort((one, other) => other.count - one.count || (one.group < other.group ? -1 : 1))
    .slice(0, MAX_GROUPS);
}

/** One statement reads both parts, so that a trace that ends meanwhile is counted once. */
async function readCells(queries: Queries, filters: TraceFilters, column: GroupColumn | undefined): Promise<Cell[]> {
  const isRare = await isRareMetadata(queries, filters);
  const parts = [...finishedPart(filters, isRare, column), ...unfinishedPart(filters, column)];
  if (parts.length === 0) return [];
  const { rows } = await sql<Cell>`${sql.join(parts, sql` union all `)}`.execute(queries);
  return rows.map((row) => ({
    group: row.group,
    status: row.status,
    rewardBin: row.rewardBin,
    count: Number(row.count),
    reward: Number(row.reward),
    prompt: Number(row.prompt),
    completion: Number(row.completion),
    total: Number(row.total),
  }));
}

function finishedPart(
  filters: TraceFilters,
  isRareMetadata: boolean,
  column: GroupColumn | undefined,
): RawBuilder<unknown>[] {
  if (filters.status !== undefined && UNFINISHED.includes(filters.status)) return [];
  const condition = and(
    ...columnConditions(filters),
    ...withoutBeside(filters),
    ...rewardConditions(filters),
    ...createdIn(filters),
    ...metadataConditions(filters, isRareMetadata),
    ...ofTracesWith(filters),
  );
  const { group, groupedBy } = groupIn(column);
  const { reward, bin } = rewardColumns(filters.grades);
  return [
    sql`select ${group} as "group", row.status as status, ${bin} as "rewardBin", count(*) as count,
          coalesce(sum(${reward}), 0) as reward, sum(row.prompt_tokens) as prompt,
          sum(row.completion_tokens) as completion, sum(row.total_tokens) as total
        from outcomes as row where row.is_deleted = 0 and row.is_superseded = 0 and ${condition} group by ${groupedBy}row.status, ${bin}`,
  ];
}

/** Unfinished traces have no outcome and are only counted. With a range of rewards they are left out. */
function unfinishedPart(filters: TraceFilters, column: GroupColumn | undefined): RawBuilder<unknown>[] {
  const { status, minReward, maxReward } = filters;
  if (minReward !== undefined || maxReward !== undefined) return [];
  if (status !== undefined && !UNFINISHED.includes(status)) return [];
  const condition = and(
    ...columnConditions(filters, ['env_name', 'scenario_name', 'model', 'origin']),
    ...withoutBeside(filters),
    ...createdIn(filters),
    ...metadataConditions(filters, false),
    ...traceConditions(filters),
  );
  const { group, groupedBy } = groupIn(column);
  return [
    sql`select ${group} as "group", row.status as status, ${sql.lit(NO_REWARD)} as "rewardBin", count(*) as count, 0 as reward,
          0 as prompt, 0 as completion, 0 as total
        from traces as row where row.status in (${sql.join(UNFINISHED)}) and ${condition} group by ${groupedBy}row.status`,
  ];
}

/** The column of the group, and the start of the `group by` clause. */
function groupIn(column: GroupColumn | undefined) {
  if (column === undefined) return { group: sql`cast(null as text)`, groupedBy: sql`` };
  const group = sql.ref(`row.${column}`);
  return { group, groupedBy: sql`${group}, ` };
}

/** True when few traces have the first metadata entry of the filters. */
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
