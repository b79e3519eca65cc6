import type { TraceEvent } from '../contract/event.ts';
import type { Database, DatabaseTransaction, RowsWrite } from '../database/database.ts';
import { untilWritten } from '../database/until-written.ts';
import {
  type AppendRequest,
  type EncodedEvent,
  type EventWriter,
  isWritten,
  type NumberedRequest,
  toEvents,
} from './event-rows.ts';
import type { TraceProjection } from './projection.ts';
import { isFinal, lockTraces, readHead, type TraceHead, type TraceHeads } from './trace-heads.ts';
import { finishTraceRow, startTraceRows } from './trace-rows.ts';
import { AttemptSupersededError } from './trace-store.ts';

export interface AppendContext {
  readonly database: Database;
  readonly heads: TraceHeads;
  readonly writer: EventWriter;
  /** Projects the events of a trace, with those of this transaction. */
  project(transaction: DatabaseTransaction, traceId: string): Promise<TraceProjection | undefined>;
}

export interface AppendedGroup {
  /** For each request its events, or the error that it is refused with; a refused one wrote nothing. */
  readonly results: readonly (TraceEvent[] | AttemptSupersededError)[];
  /** Where the traces stand now. */
  readonly heads: ReadonlyMap<string, TraceHead>;
}

/**
 * Writes a group of appends in one transaction: checks that each is for its trace's current attempt, numbers its
 * events, inserts all, and brings the traces' rows up to date.
 *
 * What keeps a stalled worker out is the key of the events: whatever ends an attempt or a trace is an event too, so
 * that a number which an outdated head gives is always taken. A deleted trace is refused by the events' reference to it.
 * A group whose connection was lost is written again unless its first event is there under its number: the group is one
 * commit, and nobody else writes that event at that time.
 *
 * @throws when a number is taken, or the database fails: the whole group is undone then.
 */
export async function appendEvents(requests: readonly AppendRequest[], context: AppendContext): Promise<AppendedGroup> {
  const tried: PlannedGroup[] = [];
  return await untilWritten(() => appendOnce(requests, context, (planned) => tried.push(planned)), {
    async found() {
      for (const planned of tried) if (await isWritten(context.database.kysely, planned.accepted[0])) return planned;
      return undefined;
    },
    onTaken() {
      for (const { traceId } of requests) context.heads.forget(traceId);
    },
  });
}

interface PlannedGroup extends AppendedGroup {
  readonly accepted: readonly NumberedRequest[];
}

async function appendOnce(
  requests: readonly AppendRequest[],
  context: AppendContext,
  onPlanned: (planned: PlannedGroup) => void,
): Promise<AppendedGroup> {
  const { database, heads: remembered, writer } = context;
  if (requests.every((request) => isPlain(request, remembered))) {
    const planned = plan(requests, (traceId) => remembered.get(traceId));
    onPlanned(planned);
    await writer.insert(planned.accepted, { before: toStarts(database, planned.accepted) });
    return planned;
  }
  return await database.transaction(async (transaction) => {
    const changed = requests.filter(({ events }) => statusAfter(events) !== undefined).map(({ traceId }) => traceId);
    if (database.kind === 'postgres' && changed.length > 0) await lockTraces(transaction, changed);
    const known = await readUnknownHeads(transaction, requests, remembered);
    const planned = plan(requests, (traceId) => known.get(traceId) ?? remembered.get(traceId));
    onPlanned(planned);
    await writer.insert(planned.accepted, { before: toStarts(database, planned.accepted), transaction });
    for (const { request } of planned.accepted) await finishTrace(transaction, request, context);
    return planned;
  });
}

/**
 * Nothing has to be read for it, and its trace does not end by it: the common case, and the fast one. That it begins is
 * kept from an outdated writer by the number of the event, as everything else.
 */
function isPlain(request: AppendRequest, remembered: TraceHeads): boolean {
  return isCurrent(remembered.get(request.traceId), request) && !hasEnd(request);
}

/** What says in the rows of traces that an attempt of theirs begins: in one order for all processes, as their events. */
function toStarts(database: Database, accepted: readonly NumberedRequest[]): readonly RowsWrite[] {
  const started = accepted.filter(({ request }) => statusAfter(request.events) === 'running');
  if (started.length === 0) return [];
  return [startTraceRows(database, started.map(({ request }) => request.traceId).toSorted())];
}

/** Numbers are checked by their key, a refusal is not: it is made by what the database says, not by memory. */
async function readUnknownHeads(
  transaction: DatabaseTransaction,
  requests: readonly AppendRequest[],
  remembered: TraceHeads,
): Promise<Map<string, TraceHead>> {
  const heads = new Map<string, TraceHead>();
  for (const request of requests) {
    const { traceId } = request;
    if (heads.has(traceId) || isCurrent(remembered.get(traceId), request)) continue;
    const head = await readHead(transaction, traceId);
    if (head !== undefined) heads.set(traceId, head);
  }
  return heads;
}

function plan(requests: readonly AppendRequest[], headOf: (traceId: string) => TraceHead | undefined): PlannedGroup {
  const heads = new Map<string, TraceHead>();
  const accepted: NumberedRequest[] = [];
  const results: (TraceEvent[] | AttemptSupersededError)[] = [];
  for (const request of requests) {
    const { traceId, attempt, events } = request;
    const head = heads.get(traceId) ?? headOf(traceId);
    if (!isCurrent(head, request)) {
      results.push(new AttemptSupersededError(traceId, attempt));
      continue;
    }
    const { lastSeq } = head;
    accepted.push({ request, lastSeq });
    results.push(toEvents(request, lastSeq));
    heads.set(traceId, { attempt, status: statusAfter(events) ?? head.status, lastSeq: lastSeq + events.length });
  }
  return { results, heads, accepted };
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

function hasEnd({ events }: AppendRequest): boolean {
  return events.at(-1)?.body.type === 'run.finished';
}

async function finishTrace(
  transaction: DatabaseTransaction,
  request: AppendRequest,
  { project }: AppendContext,
): Promise<void> {
  if (!hasEnd(request)) return;
  const projection = await project(transaction, request.traceId);
  if (projection !== undefined) await finishTraceRow(transaction, projection, request.at);
}
