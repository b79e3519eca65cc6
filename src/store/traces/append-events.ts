import { isEnded } from '../../contract/service/ended.ts';
import type { TraceEvent } from '../../contract/service/event.ts';
import type { Database } from '../database/database.ts';
import { untilWritten } from '../database/until-written.ts';
import type { EndedTrace, EndRows } from './rows/end-rows.ts';
import {
  type AppendRequest,
  byTraceId,
  type EncodedEvent,
  type EventWriter,
  isWritten,
  type NumberedRequest,
  toEvents,
} from './rows/event-rows.ts';
import { readHead, type TraceHead, type TraceHeads } from './rows/trace-heads.ts';
import { AttemptSupersededError } from './trace-store.ts';

export interface AppendContext {
  readonly database: Database;
  readonly heads: TraceHeads;
  readonly writer: EventWriter;
  readonly endRows: EndRows;
  /** A trace with its events up to `lastSeq`; undefined when it does not exist. The caller may modify the result. */
  readUntil(traceId: string, lastSeq: number): Promise<Pick<EndedTrace, 'owner' | 'first' | 'projection'> | undefined>;
}

export interface AppendedGroup {
  /** For each request its events, or the error that refused it. A refused request wrote nothing. */
  readonly results: readonly (TraceEvent[] | AttemptSupersededError)[];
  /** The state of the traces after the commit. */
  readonly heads: ReadonlyMap<string, TraceHead>;
}

/**
 * Writes a group of appends in one transaction: checks that each is for its trace's current attempt, numbers its
 * events, inserts all, and updates the rows of the traces.
 *
 * The primary key of the events keeps a stalled worker out: every end of an attempt or a trace is an event too, so an
 * outdated head always leads to a number that is taken. The foreign key of the events refuses a deleted trace. After a
 * lost connection the group is written again unless its first event exists under its number: the group is one commit,
 * and no other process writes that event.
 *
 * @throws when a number is taken or the database fails. The whole group is rolled back then.
 */
export async function appendEvents(requests: readonly AppendRequest[], context: AppendContext): Promise<AppendedGroup> {
  /** Groups of earlier tries, whose commit may still have gone through. */
  const tried: PlannedGroup[] = [];
  const found = async () => {
    for (const planned of tried) if (await isWritten(context.database.kysely, planned.accepted[0])) return planned;
    return undefined;
  };
  return await untilWritten(
    () => appendOnce(requests, context, { found, onPlanned: (planned) => tried.push(planned) }),
    {
      found,
      onTaken() {
        tried.length = 0; // The numbers of the earlier tries are taken too.
        for (const { traceId } of requests) context.heads.forget(traceId);
      },
    },
  );
}

interface PlannedGroup extends AppendedGroup {
  readonly accepted: readonly NumberedRequest[];
}

interface Tries {
  /** The group of an earlier try that was written after all. */
  found(): Promise<PlannedGroup | undefined>;
  onPlanned(planned: PlannedGroup): void;
}

async function appendOnce(
  requests: readonly AppendRequest[],
  context: AppendContext,
  { found, onPlanned }: Tries,
): Promise<AppendedGroup> {
  const { heads: remembered, endRows, writer } = context;
  const known = await readUnknownHeads(requests, context);
  // A head that was just read may include events of an earlier try. Writing them again would duplicate them.
  const written = known.size > 0 ? await found() : undefined;
  if (written !== undefined) return written;
  const planned = plan(requests, (traceId) => known.get(traceId) ?? remembered.get(traceId));
  onPlanned(planned);
  if (planned.accepted.length === 0) return planned;
  const ended = await readEnded(planned, context);
  const rows = [...endRows.starts(startedIn(planned)), ...endRows.ends(ended)];
  await writer.insert(planned.accepted, { before: rows, isDurable: ended.length > 0 });
  return planned;
}

/**
 * Traces with an attempt that starts and does not end in this group. All processes use the same order, as for events.
 */
function startedIn({ accepted, heads }: PlannedGroup): readonly string[] {
  const started = accepted.filter(({ request }) => statusAfter(request.events) === 'running');
  const ids = new Set(started.map(({ request }) => request.traceId));
  return [...ids].filter((traceId) => heads.get(traceId)?.status === 'running').toSorted();
}

/** Traces that end, with all of their events. Earlier events that are not in memory are read. */
async function readEnded(planned: PlannedGroup, context: AppendContext): Promise<readonly EndedTrace[]> {
  const ended: EndedTrace[] = [];
  for (const { request } of planned.accepted.filter(({ request }) => hasEnd(request)).toSorted(byTraceId)) {
    const { traceId, at: finishedAt } = request;
    const own = planned.accepted.filter((each) => each.request.traceId === traceId);
    const trace = await context.readUntil(traceId, own[0]?.lastSeq ?? 0);
    if (trace === undefined) continue; // The trace was deleted, so the database will refuse its events.
    for (const { request: each, lastSeq } of own) {
      for (const event of toEvents(each, lastSeq)) trace.projection.add(event);
    }
    ended.push({ traceId, ...trace, finishedAt });
  }
  return ended;
}

/**
 * Reads the heads that are not in memory, or that would refuse a request. The primary key detects an outdated number,
 * but nothing detects a wrong refusal.
 */
async function readUnknownHeads(
  requests: readonly AppendRequest[],
  { database, heads: remembered }: AppendContext,
): Promise<Map<string, TraceHead>> {
  const heads = new Map<string, TraceHead>();
  for (const request of requests) {
    const { traceId } = request;
    if (heads.has(traceId) || isCurrent(remembered.get(traceId), request)) continue;
    const head = await readHead(database.kysely, traceId);
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
  return head !== undefined && head.attempt === attempt && !isEnded(head.status);
}

/** The status of a trace after these events; undefined when they do not change it. */
function statusAfter(events: readonly EncodedEvent[]): string | undefined {
  const last = events.at(-1)?.body;
  if (last?.type === 'run.finished') return last.status;
  return events.some(({ body }) => body.type === 'run.started') ? 'running' : undefined;
}

function hasEnd({ events }: AppendRequest): boolean {
  return events.at(-1)?.body.type === 'run.finished';
}
