import type { EventBody, EventOf, TraceEvent } from '../contract/event.ts';
import type { Trace } from '../contract/trace.ts';
import type { DatabaseTransaction } from '../database/database.ts';
import type { EventsTable } from '../database/schema.ts';
import type { EventStatements, TraceHead } from './event-statements.ts';
import { toSummary } from './projection.ts';
import { AttemptSupersededError } from './trace-store.ts';

/** One call of `append`, with its events as they will be written but for their numbers. */
export interface AppendRequest {
  readonly traceId: string;
  readonly attempt: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly events: readonly EncodedEvent[];
}

export interface EncodedEvent {
  readonly body: EventBody;
  readonly json: string;
}

export interface AppendContext {
  readonly transaction: DatabaseTransaction;
  readonly statements: EventStatements;
  /** Projects the events of a trace, with those of this transaction. */
  project(traceId: string): Promise<Trace>;
}

/**
 * Writes a group of appends in one transaction: checks that each is its trace's current attempt, numbers its events,
 * inserts all, and brings the rows of the traces up to date.
 *
 * @returns for each request its events, or the error that it is refused with; a refused one wrote nothing.
 */
export async function appendEvents(
  { transaction, statements, project }: AppendContext,
  requests: readonly AppendRequest[],
): Promise<(TraceEvent[] | AttemptSupersededError)[]> {
  const traceIds = [...new Set(requests.map(({ traceId }) => traceId))];
  const heads = await statements.heads(transaction, traceIds);
  const rows: EventsTable[] = [];
  const results = requests.map((request) => {
    const head = heads.get(request.traceId);
    if (head === undefined || !isCurrent(head, request)) {
      return new AttemptSupersededError(request.traceId, request.attempt);
    }
    heads.set(request.traceId, advance(head, request));
    rows.push(...toRows(head, request));
    return toEvents(head, request);
  });
  await statements.insert(transaction, rows);
  for (const [index, request] of requests.entries()) {
    if (Array.isArray(results[index])) await updateTraceRow(transaction, request, project);
  }
  return results;
}

/** An event as it is written. @throws TypeError for a body that JSON cannot hold. */
export function encodeEvent(body: EventBody): EncodedEvent {
  return { body, json: JSON.stringify(body) };
}

/** Events of a request are numbered after the last one of the trace. */
export function toRows(head: Pick<TraceHead, 'last_seq'>, request: AppendRequest): EventsTable[] {
  const { traceId, attempt, at } = request;
  return request.events.map(({ body, json }, index) => {
    return { trace_id: traceId, seq: head.last_seq + 1 + index, attempt, at, type: body.type, body: json };
  });
}

export function toEvents(head: Pick<TraceHead, 'last_seq'>, { attempt, at, events }: AppendRequest): TraceEvent[] {
  const time = new Date(at).toISOString();
  return events.map(({ body }, index) => ({ seq: head.last_seq + 1 + index, at: time, attempt, ...body }));
}

function isCurrent({ attempt, status }: TraceHead, request: AppendRequest): boolean {
  return attempt === request.attempt && (status === 'queued' || status === 'running');
}

/** What the next request of the same trace in this group is checked against. */
function advance(head: TraceHead, { events }: AppendRequest): TraceHead {
  const last = events.at(-1)?.body;
  const status = last?.type === 'run.finished' ? last.status : head.status;
  return { ...head, status, last_seq: head.last_seq + events.length };
}

async function updateTraceRow(
  transaction: DatabaseTransaction,
  { traceId, at, events }: AppendRequest,
  project: AppendContext['project'],
): Promise<void> {
  const last = events.at(-1)?.body;
  if (last?.type === 'run.finished') {
    await finishTraceRow(transaction, traceId, at, await project(traceId), last);
  } else if (events.some(({ body }) => body.type === 'run.started')) {
    await transaction.updateTable('traces').set({ status: 'running' }).where('trace_id', '=', traceId).execute();
  }
}

async function finishTraceRow(
  transaction: DatabaseTransaction,
  traceId: string,
  at: number,
  trace: Trace,
  { status }: EventOf<'run.finished'>,
): Promise<void> {
  await transaction
    .updateTable('traces')
    .set({
      status,
      reward: trace.reward,
      finished_at: at,
      duration_ms: trace.timing.total_ms,
      total_tokens: trace.usage.total_tokens,
      summary: JSON.stringify(toSummary(trace)),
    })
    .where('trace_id', '=', traceId)
    .execute();
}
