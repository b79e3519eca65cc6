import { type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import { z } from 'zod';
import { parsePageCursor, parsePageLimit, toPageCursor } from '../database/page-cursor.ts';
import type { DatabaseSchema } from '../database/tables/schema.ts';
import { hasOutcome } from './rows/outcome-conditions.ts';
import type { TraceQuery } from './trace-store.ts';

export interface ListedRow {
  readonly trace_id: string;
  /** Bytes of the finished trace as JSON without steps and logs; null until it is finished. */
  readonly bytes: number | null;
  /** 1 when the attempt was run again and a later trace replaces this one. */
  readonly is_superseded: number;
  /** The reward of the newest grade that has one. */
  readonly grade_reward: number | null;
  /** Cursor of the page after this row. */
  readonly cursor: string;
}

/** Largest number of traces that are sorted for a page. */
const MAX_SORTED = 2_000;

const LIMIT = { default: 50, minimum: 1, maximum: 100 } as const;

/** Sort orders. Traces without a value in the sorted column form a second part: they come last, newest first. */
const SORTS = {
  created_at: { column: 'created_at', parts: ['all'] },
  reward: { column: 'reward', parts: ['valued', 'missing'] },
  duration: { column: 'duration_ms', parts: ['valued', 'missing'] },
  tokens: { column: 'total_tokens', parts: ['valued', 'missing'] },
} as const;

/**
 * One page of a list with keyset pagination: the cursor names the last row of the previous page. New rows neither shift
 * the pages nor appear twice, and the last page costs as little as the first.
 *
 * @throws ApiError invalid_parameter for a limit out of range, or a cursor of another query.
 */
export async function listTraceRows(
  queries: Kysely<DatabaseSchema>,
  query: TraceQuery,
): Promise<{ readonly rows: readonly ListedRow[]; readonly nextCursor: string | null }> {
  const limit = parsePageLimit(query.limit, LIMIT);
  const after = query.cursor === undefined ? undefined : parseCursor(query.cursor, query);
  const isRare = await isRareReward(queries, query);
  const rows: SortedRow[] = [];
  for (const part of SORTS[query.sort ?? 'created_at'].parts) {
    if (rows.length > limit) break;
    if (part === 'valued' && after !== undefined && after.value === null) continue;
    const isCursorHere = after !== undefined && (part !== 'missing' || after.value === null);
    const page = selectPart(queries, query, { part, isRare, after: isCursorHere ? after : undefined });
    rows.push(...(await page.limit(limit + 1 - rows.length).execute()));
  }
  const last = rows[limit - 1];
  const nextCursor = rows.length > limit && last !== undefined ? toCursor(last, query) : null;
  const listed = rows.slice(0, limit);
  return { rows: listed.map((row) => ({ ...row, cursor: toCursor(row, query) })), nextCursor };
}

type Part = 'all' | 'valued' | 'missing';

type Queries = Kysely<DatabaseSchema>;

interface Position {
  readonly value: number | null;
  readonly created_at: number;
  readonly trace_id: string;
}

interface SortedRow extends Omit<ListedRow, 'cursor'>, Position {}

/** Settings for one part of a page. */
interface PartPlan {
  readonly part: Part;
  readonly isRare: boolean;
  readonly after: Position | undefined;
}

function selectPart(queries: Queries, query: TraceQuery, { part, isRare, after }: PartPlan) {
  const { column } = SORTS[query.sort ?? 'created_at'];
  const sortedBy = column === 'reward' ? rewardColumn(query) : sql.ref<number | null>(`traces.${column}`);
  const [createdAt, traceId] = keyColumns(query, isRare);
  // The cursor is the narrower bound. With both bounds SQLite might seek by the wider one.
  const isWithin = part !== 'valued' && after !== undefined && after.created_at <= (query.until ?? Infinity);
  const { until: _until, ...others } = query;
  let page = filter(queries, isWithin ? others : query, isRare).select([
    'traces.trace_id',
    'traces.created_at',
    'traces.is_superseded',
    'traces.grade_reward',
    // Sorting and counting skip the large summary text. It is read only for rows that fit into the page.
    sql<number | null>`octet_length(${sql.ref('traces.summary')})`.as('bytes'),
    sortedBy.as('value'),
  ]);
  if (part === 'valued') {
    page = page.where(sortedBy, 'is not', null).orderBy(sortedBy, 'desc');
    if (after !== undefined) {
      page = page.where(
        sql<boolean>`(${sortedBy}, traces.created_at, traces.trace_id) < (${after.value}, ${after.created_at}, ${after.trace_id})`,
      );
    }
  } else {
    if (part === 'missing') page = page.where(sortedBy, 'is', null);
    if (after !== undefined) {
      page = page.where(sql<boolean>`(${createdAt}, ${traceId}) < (${after.created_at}, ${after.trace_id})`);
    }
  }
  return page.orderBy(createdAt, 'desc').orderBy(traceId, 'desc');
}

/** JSON of the finished traces among these, without steps and logs. */
export async function readSummaries(
  queries: Queries,
  rows: readonly ListedRow[],
): Promise<ReadonlyMap<string, string>> {
  const ids = rows.filter(({ bytes }) => bytes !== null).map(({ trace_id }) => trace_id);
  if (ids.length === 0) return new Map();
  const found = await queries
    .selectFrom('traces')
    .select(['trace_id', 'summary'])
    .where('trace_id', 'in', ids)
    .execute();
  return new Map(found.flatMap(({ trace_id, summary }) => (summary === null ? [] : [[trace_id, summary] as const])));
}

/**
 * The columns to sort by. A metadata filter sorted by time uses the metadata's index, every other list that of the
 * traces. The few traces of a rare reward are sorted without an index: SQLite would otherwise read all traces in order.
 */
function keyColumns({ metadata = {}, sort = 'created_at' }: TraceQuery, isRare: boolean) {
  if (isRare) return [sql<number>`+${sql.ref('traces.created_at')}`, sql.ref<string>('traces.trace_id')] as const;
  const table = sort === 'created_at' && Object.keys(metadata).length > 0 ? 'tagged' : 'traces';
  return [sql.ref<number>(`${table}.created_at`), sql.ref<string>(`${table}.trace_id`)] as const;
}

function filter(
  queries: Queries,
  query: TraceQuery,
  isRare: boolean,
): SelectQueryBuilder<DatabaseSchema, 'traces', object> {
  let rows: SelectQueryBuilder<DatabaseSchema, 'traces', object> = queries.selectFrom('traces');
  if (query.account !== undefined) rows = rows.where('traces.account', '=', query.account);
  if (query.envName !== undefined) rows = rows.where('traces.env_name', '=', query.envName);
  if (query.scenarioName !== undefined) rows = rows.where('traces.scenario_name', '=', query.scenarioName);
  if (query.model !== undefined) rows = rows.where('traces.model', '=', query.model);
  if (query.status !== undefined) rows = rows.where('traces.status', '=', query.status);
  if (query.origin !== undefined) rows = rows.where('traces.origin', '=', query.origin);
  if (query.evaluationId !== undefined) rows = rows.where('traces.evaluation_id', '=', query.evaluationId);
  if (query.taskId !== undefined) rows = rows.where('traces.task_id', '=', query.taskId);
  if (query.attemptIndex !== undefined) rows = rows.where('traces.attempt_index', '=', query.attemptIndex);
  if (query.parent !== undefined) rows = rows.where('traces.parent_trace_id', '=', query.parent);
  if (query.outcome !== undefined) rows = rows.where(hasOutcome('traces', query.outcome));
  if (query.since !== undefined) rows = rows.where('traces.created_at', '>=', query.since);
  if (query.until !== undefined) rows = rows.where('traces.created_at', '<=', query.until);
  // A range from the reward index has to be sorted again unless the list is sorted by reward. That pays only for few
  // rows.
  const isByIndex = query.sort === 'reward' || isRare;
  const reward = isByIndex ? rewardColumn(query) : sql<number>`+${rewardColumn(query)}`;
  if (query.minReward !== undefined) rows = rows.where(reward, '>=', query.minReward);
  if (query.maxReward !== undefined) rows = rows.where(reward, '<=', query.maxReward);
  return filterByMetadata(rows, query);
}

/** The reward of the run, or of the newest grade for `grades=current`. */
function rewardColumn({ grades }: Pick<TraceQuery, 'grades'>) {
  const reward = sql.ref<number | null>('traces.reward');
  return grades === 'current' ? sql<number | null>`coalesce(traces.grade_reward, ${reward})` : reward;
}

/**
 * True when few traces have a reward in the range, so that it is faster to find these by reward and sort them than to
 * scan all traces in list order. Of many, a scan finds a page soon.
 */
async function isRareReward(
  queries: Queries,
  { account, minReward, maxReward, sort, grades }: TraceQuery,
): Promise<boolean> {
  // Grades have no index, because few traces have one.
  if (grades === 'current') return false;
  if (account === undefined || sort === 'reward' || (minReward === undefined && maxReward === undefined)) return false;
  let rows = queries
    .selectFrom('traces')
    .select('traces.reward')
    .where('account', '=', account)
    .where('reward', 'is not', null);
  if (minReward !== undefined) rows = rows.where('reward', '>=', minReward);
  if (maxReward !== undefined) rows = rows.where('reward', '<=', maxReward);
  const beyond = rows.orderBy('reward').limit(1).offset(MAX_SORTED);
  return (await beyond.executeTakeFirst()) === undefined;
}

/**
 * Filters by metadata. The first entry is joined, because its index may find the traces; the others are tested per row.
 */
function filterByMetadata(
  rows: SelectQueryBuilder<DatabaseSchema, 'traces', object>,
  { account, metadata = {} }: TraceQuery,
): SelectQueryBuilder<DatabaseSchema, 'traces', object> {
  const [first, ...others] = Object.entries(metadata);
  if (first === undefined) return rows;
  const [firstKey, firstValue] = first;
  return others.reduce(
    (found, [key, value]) =>
      found.where(({ exists, selectFrom }) =>
        exists(
          selectFrom('trace_metadata')
            .select('trace_metadata.trace_id')
            .whereRef('trace_metadata.trace_id', '=', 'traces.trace_id')
            .where('trace_metadata.key', '=', key)
            .where('trace_metadata.value', '=', value),
        ),
      ),
    rows.$if(true, (joined) =>
      joined.innerJoin('trace_metadata as tagged', (join) =>
        join
          .onRef('tagged.trace_id', '=', 'traces.trace_id')
          .on('tagged.key', '=', firstKey)
          .on('tagged.value', '=', firstValue)
          .$call((on) => (account === undefined ? on : on.on('tagged.account', '=', account))),
      ),
    ),
  );
}

function toCursor({ value, created_at, trace_id }: Position, query: TraceQuery): string {
  return toPageCursor(listOf(query), [value, created_at, trace_id]);
}

function parseCursor(cursor: string, query: TraceQuery): Position {
  // Only rewards have fractions. Postgres refuses a fraction for the other columns.
  const valueSchema = query.sort === 'reward' ? z.number() : z.int();
  const positionSchema = z.tuple([valueSchema.nullable(), z.int(), z.string()]);
  const [value, created_at, trace_id] = parsePageCursor(cursor, listOf(query), positionSchema);
  return { value, created_at, trace_id };
}

function listOf({ limit: _limit, cursor: _cursor, sort = 'created_at', ...filters }: TraceQuery): unknown {
  const { metadata = {}, ...single } = filters;
  return [sort, ...[single, metadata].map((each) => Object.entries(each).filter(isGiven).sort())];
}

function isGiven([, value]: [string, unknown]): boolean {
  return value !== undefined;
}
