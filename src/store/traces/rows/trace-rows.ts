import { type ExpressionBuilder, type InsertObject, type Kysely, sql } from 'kysely';
import { runningMs } from '../../../contract/running-time.ts';
import { isEnded } from '../../../contract/service/ended.ts';
import type { EventOf } from '../../../contract/service/event.ts';
import { type RunStatus, runStatusSchema } from '../../../contract/service/run.ts';
import type { Origin, Trace } from '../../../contract/service/trace.ts';
import type { Database, DatabaseTransaction } from '../../database/database.ts';
import type { DatabaseSchema } from '../../database/tables/schema.ts';
import type { TraceRow } from '../trace-store.ts';
import type { OutcomeOwner } from './outcome-rows.ts';
import { toSummary } from './projection.ts';

type Queries = Kysely<DatabaseSchema>;
type RunRequestEvent = EventOf<'run.queued'>;

/** States of a run that is not over. */
export const UNFINISHED: readonly RunStatus[] = runStatusSchema.options.filter((status) => !isEnded(status));

export interface NewTraceRow {
  readonly traceId: string;
  readonly account: string;
  readonly keyId: string | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** The request that the worker executes. */
  readonly request: RunRequestEvent;
  /** The same request without secrets. */
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

/** The row of a new run, which is queued. */
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
    evaluation_id: request.evaluation?.evaluation_id ?? null,
    task_id: request.evaluation?.task_id ?? request.imported?.task_id ?? null,
    attempt_index: request.evaluation?.attempt_index ?? request.imported?.attempt_index ?? null,
    parent_trace_id: request.parent?.trace_id ?? null,
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

/** Inserts rows that have the same columns in the same order. */
async function insertEach<Table extends 'traces' | 'trace_metadata'>(
  database: Database,
  transaction: DatabaseTransaction,
  table: Table,
  rows: readonly InsertObject<DatabaseSchema, Table>[],
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const statement = database.kysely.insertInto(table).values(first).compile();
  await database.runEach([{ statement, rows: rows.map((row) => Object.values(row)) }], { transaction });
}

/** Columns that are set in the row when the trace ends. @param finishedAt milliseconds since 1970. */
export function toFinishedColumns(trace: Trace, finishedAt: number) {
  return {
    status: trace.status,
    reward: trace.reward,
    finished_at: finishedAt,
    duration_ms: runningMs(trace),
    total_tokens: trace.usage.total_tokens,
    outcome: trace.outcome,
    summary: JSON.stringify(toSummary(trace)),
  };
}

/** Makes `attempt + 1` the current attempt. @returns the request; undefined when `attempt` is not the current one. */
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

export interface OpenedTrace {
  readonly row: TraceRow;
  /** The columns of the outcome that come from the trace's row. */
  readonly owner: OutcomeOwner;
  /** JSON of the first event. */
  readonly first: string;
}

export async function readTraceRow(queries: Queries, traceId: string): Promise<OpenedTrace | undefined> {
  const [opened] = await readTraceRows(queries, [traceId]);
  return opened;
}

/** The existing traces among these, in any order. */
export async function readTraceRows(queries: Queries, traceIds: readonly string[]): Promise<readonly OpenedTrace[]> {
  const rows = await queries
    .selectFrom('traces')
    .select(['trace_id', 'account', 'key_id', 'created_at'])
    .select(['origin', 'status', 'attempt', 'cancel_requested', 'request'])
    .select((traces) => [lastSeq(traces).as('last_seq'), firstBody(traces).as('first')])
    .where('trace_id', 'in', traceIds)
    .execute();
  return rows.map((row) => ({
    owner: row,
    first: row.first,
    row: {
      traceId: row.trace_id,
      account: row.account,
      keyId: row.key_id,
      origin: row.origin as Origin,
      status: row.status as RunStatus,
      attempt: row.attempt,
      lastSeq: row.last_seq,
      cancelRequested: row.cancel_requested !== 0,
      request: parseRequest(row.request),
    },
  }));
}

/** The last event number of the row's trace. Numbers have no gaps, so the primary key's index gives it. */
export function lastSeq(traces: ExpressionBuilder<DatabaseSchema, 'traces'>) {
  return traces
    .selectFrom('events')
    .select(({ fn }) => fn.coalesce(fn.max('events.seq'), sql<number>`0`).as('last_seq'))
    .whereRef('events.trace_id', '=', 'traces.trace_id')
    .$asScalar()
    .$notNull();
}

function firstBody(traces: ExpressionBuilder<DatabaseSchema, 'traces'>) {
  return traces
    .selectFrom('events')
    .select('events.body')
    .whereRef('events.trace_id', '=', 'traces.trace_id')
    .where('events.seq', '=', 1)
    .$asScalar()
    .$notNull();
}

/** Parses without validation, because this layer wrote the row. */
function parseRequest(request: string): RunRequestEvent {
  return JSON.parse(request) as RunRequestEvent;
}
