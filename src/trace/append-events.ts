import type { TraceEvent } from '../contract/event.ts';
import type { Trace } from '../contract/trace.ts';
import type { DatabaseTransaction } from '../database/database.ts';
import { type AppendRequest, type EncodedEvent, type EventWriter, toEvents } from './event-rows.ts';
import { isFinal, readHead, type TraceHead, type TraceHeads } from './trace-heads.ts';
import { finishTraceRow, startTraceRow } from './trace-rows.ts';
import { AttemptSupersededError } from './trace-store.ts';

export interface AppendContext {
  readonly heads: TraceHeads;
  readonly writer: EventWriter;
  /** Projects the events of a trace, with those of this transaction. */
  project(transaction: DatabaseTransaction, traceId: string): Promise<Trace | undefined>;
}

export interface AppendedGroup {
  /** For each request its events, or the error that it is refused with; a refused one wrote nothing. */
  readonly results: readonly (TraceEvent[] | AttemptSupersededError)[];
  /** Where the traces stand once this is committed. */
  readonly heads: ReadonlyMap<string, TraceHead>;
}

/**
 * Writes a group of appends in one transaction: checks that each is for its trace's current attempt, numbers its
 * events, inserts all, and brings the traces' rows up to date.
 *
 * What keeps a stalled worker out is the key of the events: whatever ends an attempt or a trace is an event too, so
 * that a number which an outdated head gives is always taken. A deleted trace is refused by the events' reference to it.
 *
 * @throws when a number is taken, or the database fails: the whole group is undone then.
 */
export async function appendEvents(
  transaction: DatabaseTransaction,
  requests: readonly AppendRequest[],
  { heads: remembered, writer, project }: AppendContext,
): Promise<AppendedGroup> {
  const heads = new Map<string, TraceHead>();
  const accepted: { readonly request: AppendRequest; readonly lastSeq: number }[] = [];
  const results: (TraceEvent[] | AttemptSupersededError)[] = [];
  for (const request of requests) {
    const { traceId, attempt, events } = request;
    const seen = heads.get(traceId) ?? remembered.get(traceId);
    // Numbers are checked by the key, a refusal is not: it is made by what the database says.
    const head = isCurrent(seen, request) ? seen : (heads.get(traceId) ?? (await readHead(transaction, traceId)));
    if (!isCurrent(head, request)) {
      results.push(new AttemptSupersededError(traceId, attempt));
      continue;
    }
    accepted.push({ request, lastSeq: head.lastSeq });
    results.push(toEvents(request, head.lastSeq));
    const status = statusAfter(events) ?? head.status;
    heads.set(traceId, { attempt, status, lastSeq: head.lastSeq + events.length });
  }
  await writer.insert(transaction, accepted);
  for (const { request } of accepted) await updateTraceRow(transaction, request, project);
  return { results, heads };
}

function isCurrent(head: TraceHead | undefined, { attempt }: AppendRequest): head is TraceHead {
  return head !== undefined && head.attempt === attempt && !isFinal(head);
}

/** The status that events give to their trace; undefined where they leave it. */
function statusAfter(events: readonly EncodedEvent[]): string | undefined {
  const last = events.at(-1)?.body;
  if (last?.type === 'run.finished') return last.status;
  return events.some(({ body }) => body.type === 'run.started') ? 'running' : undefined;
}

async function updateTraceRow(
  transaction: DatabaseTransaction,
  { traceId, at, events }: AppendRequest,
  project: AppendContext['project'],
): Promise<void> {
  const status = statusAfter(events);
  if (status === undefined) return;
  if (status === 'running') return await startTraceRow(transaction, traceId);
  const trace = await project(transaction, traceId);
  if (trace !== undefined) await finishTraceRow(transaction, trace, at);
}
