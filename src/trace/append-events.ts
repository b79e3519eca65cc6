import type { TraceEvent } from '../contract/event.ts';
import type { Database } from '../database/database.ts';
import { untilWritten } from '../database/until-written.ts';
import type { EndedTrace, EndRows } from './end-rows.ts';
import {
  type AppendRequest,
  byTraceId,
  type EncodedEvent,
  type EventWriter,
  isWritten,
  type NumberedRequest,
  toEvents,
} from './event-rows.ts';
import { isFinal, readHead, type TraceHead, type TraceHeads } from './trace-heads.ts';
import { AttemptSupersededError } from './trace-store.ts';

export interface AppendContext {
  readonly database: Database;
  readonly heads: TraceHeads;
  readonly writer: EventWriter;
  readonly endRows: EndRows;
  /** A trace with its events up to that number; undefined where there is none. What it gives may be changed. */
  readUntil(traceId: string, lastSeq: number): Promise<Pick<EndedTrace, 'owner' | 'first' | 'projection'> | undefined>;
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
 * The key of the events keeps a stalled worker out: every end of an attempt or a trace is an event too, so
 * that a number which an outdated head gives is always taken. A deleted trace is refused by the events' reference to it.
 * A group whose connection was lost is written again unless its first event is there under its number: the group is one
 * commit, and nobody else writes that event at that time.
 *
 * @throws when a number is taken, or the database fails: the whole group is undone then.
 */
export async function appendEvents(requests: readonly AppendRequest[], context: AppendContext): Promise<AppendedGroup> {
  /** Traces whose commit may be under way. */
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
        tried.length = 0; // The numbers of these are taken too.
        for (const { traceId } of requests) context.heads.forget(traceId);
      },
    },
  );
}

interface PlannedGroup extends AppendedGroup {
  readonly accepted: readonly NumberedRequest[];
}

interface Tries {
  /** The group that an earlier try has written after all. */
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
  // A head that was read now may include events of an earlier try. Writing them again would duplicate them.
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

/** Traces of which an attempt begins and does not end: in one order for all processes, as their events. */
function startedIn({ accepted, heads }: PlannedGroup): readonly string[] {
  const started = accepted.filter(({ request }) => statusAfter(request.events) === 'running');
  const ids = new Set(started.map(({ request }) => request.traceId));
  return [...ids].filter((traceId) => heads.get(traceId)?.status === 'running').toSorted();
}

/** Traces that end, with all of their events: those of before that are not known here are read. */
async function readEnded(planned: PlannedGroup, context: AppendContext): Promise<readonly EndedTrace[]> {
  const ended: EndedTrace[] = [];
  for (const { request } of planned.accepted.filter(({ request }) => hasEnd(request)).toSorted(byTraceId)) {
    const { traceId, at: finishedAt } = request;
    const own = planned.accepted.filter((each) => each.request.traceId === traceId);
    const trace = await context.readUntil(traceId, own[0]?.lastSeq ?? 0);
    if (trace === undefined) continue; // It was deleted, and its events are refused for it.
    for (const { request: each, lastSeq } of own) {
      for (const event of toEvents(each, lastSeq)) trace.projection.add(event);
    }
    ended.push({ traceId, ...trace, finishedAt });
  }
  return ended;
}

/** Numbers are checked by their key, a refusal is not: it is made by what the database says, not by memory. */
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
