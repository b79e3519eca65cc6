import { type ExpressionBuilder, type InsertObject, type Kysely, sql } from 'kysely';
import type { EventOf } from '../contract/event.ts';
import type { RunStatus } from '../contract/run.ts';
import type { Origin, Trace } from '../contract/trace.ts';
import type { Database, DatabaseTransaction, RowsWrite } from '../database/database.ts';
import type { DatabaseSchema } from '../database/schema.ts';
import { insertOutcome } from './outcome-rows.ts';
import { type TraceProjection, toSummary } from './projection.ts';
import { isRedacted } from './redact-event.ts';
import type { TraceRow } from './trace-store.ts';

type Queries = Kysely<DatabaseSchema>;
type RunRequestEvent = EventOf<'run.queued'>;

export const UNFINISHED: readonly RunStatus[] = ['queued', 'running'];

export interface NewTraceRow {
  readonly traceId: string;
  readonly account: string;
  readonly keyId: string | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** What is executed. */
  readonly request: RunRequestEvent;
  /** The same without secrets. */
  readonly shown: RunRequestEvent;
}

export async function insertTraceRows(
  database: Database,
  transaction: DatabaseTransaction,
  traces: readonly NewTraceRow[],
): Promise<void> {
  await insertEach(database, transaction, 'traces', traces.map(toTracesRow));
  await insertEach(database, transaction, 'trace_metadata', traces.flatMap(toMetadataRows));
}

/** A run that waits. */
export function toTracesRow({ traceId, account, keyId, createdAt, request, shown }: NewTraceRow) {
  return {
    trace_id: traceId,
    account,
    origin: request.origin,
    status: 'queued',
    attempt: 1,
    cancel_requested: 0,
    env_name: request.env_name,
    scenario_name: request.scenario_name,
    model: shown.model,
    created_at: createdAt,
    metadata: JSON.stringify(shown.metadata),
    request: JSON.stringify(request),
    key_id: keyId,
  };
}

export function toMetadataRows({ traceId, account, createdAt, shown }: NewTraceRow) {
  return Object.entries(shown.metadata).map(([key, value]) => ({
    trace_id: traceId,
    key,
    value,
    account,
    created_at: createdAt,
  }));
}

/** Rows with the same columns in the same order. */
async function insertEach<Table extends 'traces' | 'trace_metadata'>(
  database: Database,
  transaction: DatabaseTransaction,
  table: Table,
  rows: readonly InsertObject<DatabaseSchema, Table>[],
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const statement = database.kysely.insertInto(table).values(first).compile();
  await database.runEach([{ statement, rows: rows.map((row) => Object.values(row)) }], transaction);
}

/** Says of traces that an attempt of theirs is running. It is part of what writes the event that says so. */
export function startTraceRows(database: Database, traceIds: readonly string[]): RowsWrite {
  const statement = database.kysely
    .updateTable('traces')
    .set({ status: 'running' })
    .where('trace_id', '=', '')
    .compile();
  return { statement, rows: traceIds.map((traceId) => ['running', traceId]) };
}

/** @param finishedAt milliseconds since 1970. */
export async function finishTraceRow(
  transaction: DatabaseTransaction,
  projection: TraceProjection,
  finishedAt: number,
): Promise<void> {
  const trace = projection.toTrace();
  const row = await transaction
    .updateTable('traces')
    .set(toFinishedColumns(trace, finishedAt))
    .where('trace_id', '=', trace.trace_id)
    .returning(['account', 'key_id', 'created_at'])
    .executeTakeFirst();
  if (row !== undefined) await insertOutcome(transaction, row, trace, projection.toUsed());
  if (isRedacted([trace.model, trace.scenario_args, trace.sampling, trace.metadata])) {
    await forgetRequest(transaction, trace.trace_id);
  }
}

/** What the end of a trace writes into its row. @param finishedAt milliseconds since 1970. */
export function toFinishedColumns(trace: Trace, finishedAt: number) {
  return {
    status: trace.status,
    reward: trace.reward,
    finished_at: finishedAt,
    duration_ms: trace.timing.total_ms,
    total_tokens: trace.usage.total_tokens,
    summary: JSON.stringify(toSummary(trace)),
  };
}

/** Workers need a request as it was asked for; once it is executed, its row holds what the first event says of it. */
async function forgetRequest(transaction: DatabaseTransaction, traceId: string): Promise<void> {
  await transaction
    .updateTable('traces')
    .set(({ selectFrom }) => ({
      request: selectFrom('events')
        .select('body')
        .where('events.trace_id', '=', traceId)
        .where('events.seq', '=', 1)
        .$asScalar()
        .$notNull(),
    }))
    .where('trace_id', '=', traceId)
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
    .select(['trace_id', 'account', 'key_id', 'origin', 'status', 'attempt', 'cancel_requested', 'request'])
    .select((traces) => lastSeq(traces).as('last_seq'))
    .where('trace_id', '=', traceId)
    .executeTakeFirst();
  return (
    row && {
      traceId: row.trace_id,
      account: row.account,
      keyId: row.key_id,
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
