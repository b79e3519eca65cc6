import { type ExpressionBuilder, type Kysely, sql } from 'kysely';
import type { EventOf } from '../contract/event.ts';
import type { RunStatus } from '../contract/run.ts';
import type { Origin, Trace } from '../contract/trace.ts';
import type { DatabaseTransaction } from '../database/database.ts';
import type { DatabaseSchema } from '../database/schema.ts';
import { toSummary } from './projection.ts';
import type { TraceRow } from './trace-store.ts';

type Queries = Kysely<DatabaseSchema>;
type RunRequestEvent = EventOf<'run.queued'>;

/** A statement holds 32,766 values at most. */
const MAX_ROWS_AT_ONCE = 1_000;

export const UNFINISHED: readonly RunStatus[] = ['queued', 'running'];

export async function insertTraceRow(
  transaction: DatabaseTransaction,
  row: {
    readonly traceId: string;
    readonly account: string;
    readonly createdAt: number;
    readonly request: RunRequestEvent;
  },
): Promise<void> {
  const { traceId, account, createdAt, request } = row;
  await transaction
    .insertInto('traces')
    .values({
      trace_id: traceId,
      account,
      origin: request.origin,
      status: 'queued',
      attempt: 1,
      cancel_requested: 0,
      env_name: request.env_name,
      scenario_name: request.scenario_name,
      model: request.model,
      created_at: createdAt,
      metadata: JSON.stringify(request.metadata),
      request: JSON.stringify(request),
    })
    .execute();
  const metadata = Object.entries(request.metadata).map(([key, value]) => ({
    trace_id: traceId,
    key,
    value,
    account,
    created_at: createdAt,
  }));
  for (let from = 0; from < metadata.length; from += MAX_ROWS_AT_ONCE) {
    const rows = metadata.slice(from, from + MAX_ROWS_AT_ONCE);
    await transaction.insertInto('trace_metadata').values(rows).execute();
  }
}

export async function startTraceRow(transaction: DatabaseTransaction, traceId: string): Promise<void> {
  await transaction.updateTable('traces').set({ status: 'running' }).where('trace_id', '=', traceId).execute();
}

/** @param finishedAt milliseconds since 1970. */
export async function finishTraceRow(
  transaction: DatabaseTransaction,
  trace: Trace,
  finishedAt: number,
): Promise<void> {
  await transaction
    .updateTable('traces')
    .set({
      status: trace.status,
      reward: trace.reward,
      finished_at: finishedAt,
      duration_ms: trace.timing.total_ms,
      total_tokens: trace.usage.total_tokens,
      summary: JSON.stringify(toSummary(trace)),
    })
    .where('trace_id', '=', trace.trace_id)
    .execute();
}

/** Makes `attempt + 1` the current one. @returns what was asked for; undefined where `attempt` is not the current one. */
export async function requeueTraceRow(
  transaction: DatabaseTransaction,
  traceId: string,
  attempt: number,
): Promise<RunRequestEvent | undefined> {
  const row = await transaction
    .updateTable('traces')
    .set({ attempt: attempt + 1, status: 'queued' })
    .where('trace_id', '=', traceId)
    .where('attempt', '=', attempt)
    .where('status', 'in', UNFINISHED)
    .returning('request')
    .executeTakeFirst();
  return row && parseRequest(row.request);
}

export async function readTraceRow(queries: Queries, traceId: string): Promise<TraceRow | undefined> {
  const row = await queries
    .selectFrom('traces')
    .select(['trace_id', 'account', 'origin', 'status', 'attempt', 'cancel_requested', 'request'])
    .select((traces) => lastSeq(traces).as('last_seq'))
    .where('trace_id', '=', traceId)
    .executeTakeFirst();
  return (
    row && {
      traceId: row.trace_id,
      account: row.account,
      origin: row.origin as Origin,
      status: row.status as RunStatus,
      attempt: row.attempt,
      lastSeq: row.last_seq,
      cancelRequested: row.cancel_requested !== 0,
      request: parseRequest(row.request),
    }
  );
}

/** The last sequence number of the trace of the row. Numbers have no gap, so that it is read from the key's index. */
export function lastSeq(traces: ExpressionBuilder<DatabaseSchema, 'traces'>) {
  return traces
    .selectFrom('events')
    .select(({ fn }) => fn.coalesce(fn.max('events.seq'), sql<number>`0`).as('last_seq'))
    .whereRef('events.trace_id', '=', 'traces.trace_id')
    .$asScalar()
    .$notNull();
}

/** Rows hold what this layer wrote, so that reading them back trusts them. */
function parseRequest(request: string): RunRequestEvent {
  return JSON.parse(request) as RunRequestEvent;
}
