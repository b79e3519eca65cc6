import type { ExpressionBuilder, Kysely } from 'kysely';
import type { RunStatus } from '../../contract/service/run.ts';
import type { Database } from '../database/database.ts';
import type { DatabaseSchema } from '../database/tables/schema.ts';
import { removeTraces } from './remove-trace.ts';
import { UNFINISHED } from './rows/trace-rows.ts';

/** Selects the traces to delete. Queued and running traces always stay. */
export interface PruneQuery {
  /** Only traces that ended before this time, in milliseconds since 1970. */
  readonly before?: number;
  /** Number of the newest selected traces that stay, whatever their age. */
  readonly keepLast?: number;
  readonly status?: RunStatus;
  readonly envName?: string;
}

/** Number of traces in one transaction. Other writers get a turn between two transactions. */
const BATCH = 50;
/**
 * Milliseconds between two transactions. SQLite does not grant its lock in order of request, so others need the pause.
 */
const PAUSE_MS = 5;

/** The end of the selection: the oldest trace that stays. */
interface Boundary {
  readonly createdAt: number;
  readonly traceId: string;
}

/** Number of traces that a query selects, and the day of the oldest. */
export async function countPrunable(
  database: Database,
  query: PruneQuery,
): Promise<{ readonly count: number; readonly oldestAt: number | null }> {
  const boundary = await findBoundary(database.kysely, query);
  if (boundary === 'nothing') return { count: 0, oldestAt: null };
  const { count, oldest } = await database.kysely
    .selectFrom('traces')
    .where((row) => matches(row, query, boundary))
    .select((row) => [row.fn.countAll<number>().as('count'), row.fn.min('created_at').as('oldest')])
    .executeTakeFirstOrThrow();
  return { count: Number(count), oldestAt: oldest === null ? null : Number(oldest) };
}

/**
 * Deletes traces, oldest first, with all data that only they use. It works in small batches, so that a server on the
 * same database can go on. An abort keeps the deletions so far.
 *
 * @returns the number of deleted traces.
 */
export async function pruneTraces(
  database: Database,
  query: PruneQuery,
  { signal, onRemoved = () => {} }: { readonly signal: AbortSignal; readonly onRemoved?: (total: number) => void },
): Promise<number> {
  const boundary = await findBoundary(database.kysely, query);
  if (boundary === 'nothing') return 0;
  let removed = 0;
  let after: Boundary = { createdAt: -1, traceId: '' };
  while (!signal.aborted) {
    const rows = await nextOf(database.kysely, query, boundary, after);
    const last = rows.at(-1);
    if (last === undefined) break;
    removed += await removeTraces(
      database,
      rows.map(({ trace_id }) => trace_id),
    );
    onRemoved(removed);
    after = { createdAt: last.created_at, traceId: last.trace_id };
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return removed;
}

/** The next batch, by the index of times. Traces that could not be removed are not returned again. */
async function nextOf(
  queries: Kysely<DatabaseSchema>,
  query: PruneQuery,
  boundary: Boundary | undefined,
  after: Boundary,
) {
  return await queries
    .selectFrom('traces')
    .select(['trace_id', 'created_at'])
    .where((row) => matches(row, query, boundary))
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'trace_id'), '>', tuple(after.createdAt, after.traceId)),
    )
    .orderBy('created_at')
    .orderBy('trace_id')
    .limit(BATCH)
    .execute();
}

function matches(
  row: ExpressionBuilder<DatabaseSchema, 'traces'>,
  { before, status, envName }: PruneQuery,
  boundary: Boundary | undefined,
) {
  const conditions = [row('status', 'not in', UNFINISHED)];
  // A trace that ended before a time was created before it too, and the creation time has an index.
  if (before !== undefined) conditions.push(row('created_at', '<', before), row('finished_at', '<', before));
  if (status !== undefined) conditions.push(row('status', '=', status));
  if (envName !== undefined) conditions.push(row('env_name', '=', envName));
  if (boundary !== undefined) {
    const { refTuple, tuple, eb } = row;
    conditions.push(eb(refTuple('created_at', 'trace_id'), '<', tuple(boundary.createdAt, boundary.traceId)));
  }
  return row.and(conditions);
}

/** @returns undefined when all may be deleted, `nothing` when `keepLast` covers all traces. */
async function findBoundary(
  queries: Kysely<DatabaseSchema>,
  { keepLast = 0, status, envName }: PruneQuery,
): Promise<Boundary | 'nothing' | undefined> {
  if (keepLast === 0) return undefined;
  // The time does not count here: `keepLast` keeps the newest of all selected traces, not of the old ones.
  const kept = { ...(status === undefined ? {} : { status }), ...(envName === undefined ? {} : { envName }) };
  const row = await queries
    .selectFrom('traces')
    .select(['trace_id', 'created_at'])
    .where((each) => matches(each, kept, undefined))
    .orderBy('created_at', 'desc')
    .orderBy('trace_id', 'desc')
    .limit(1)
    .offset(keepLast - 1)
    .executeTakeFirst();
  return row === undefined ? 'nothing' : { createdAt: Number(row.created_at), traceId: row.trace_id };
}
