import type { CompiledQuery, Kysely } from 'kysely';
import type { EventBody, TraceEvent } from '../../../contract/service/event.ts';
import type { Trace } from '../../../contract/service/trace.ts';
import type { Database, DatabaseTransaction, RowsWrite } from '../../database/database.ts';
import type { DatabaseSchema, EventsTable } from '../../database/tables/schema.ts';
import { type TraceIdentity, TraceProjection } from './projection.ts';

/** Events of one trace before they have numbers. */
export interface AppendRequest {
  readonly traceId: string;
  readonly attempt: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly events: readonly EncodedEvent[];
}

export interface EncodedEvent<Body extends EventBody = EventBody> {
  readonly body: Body;
  readonly json: string;
}

export interface NumberedRequest {
  readonly request: AppendRequest;
  /** The first event gets the number after this. */
  readonly lastSeq: number;
}

/** Events that are read at once. This bounds the memory for a long trace. */
const PAGE = 500;

/** Encodes an event for the database. @throws TypeError for a body that JSON cannot hold. */
export function encodeEvent<Body extends EventBody>(body: Body): EncodedEvent<Body> {
  return { body, json: JSON.stringify(body) };
}

/** @throws TypeError for event types that `append` must not write. */
export function refuseOutOfPlace(bodies: readonly EventBody[]): void {
  for (const [index, { type }] of bodies.entries()) {
    if (type === 'run.queued') throw new TypeError('run.queued is written by create and startNextAttempt alone');
    if (type === 'run.finished' && index < bodies.length - 1) {
      throw new TypeError('run.finished is the last event of a trace: nothing can be appended after it');
    }
  }
}

/** The events of a request, numbered from `lastSeq` + 1. */
export function toEvents({ attempt, at, events }: AppendRequest, lastSeq: number): TraceEvent[] {
  const time = new Date(at).toISOString();
  return events.map(({ body }, index) => ({ seq: lastSeq + 1 + index, at: time, attempt, ...body }));
}

/** Inserts events with a statement that is compiled once. */
export class EventWriter {
  readonly #database: Database;
  readonly #insert: CompiledQuery;

  constructor(database: Database) {
    this.#database = database;
    const row: EventsTable = { trace_id: '', seq: 0, attempt: 0, at: 0, type: '', body: '' };
    this.#insert = database.kysely.insertInto('events').values(row).compile();
  }

  /**
   * @param before further writes of the same commit, which run before the inserts. Without a transaction one is
   * created;
   * it reaches the disk if `isDurable` is set.
   * @throws when a number is taken or the trace does not exist.
   */
  async insert(
    requests: readonly NumberedRequest[],
    {
      before = [],
      ...options
    }: {
      readonly before?: readonly RowsWrite[];
      readonly transaction?: DatabaseTransaction;
      readonly isDurable?: boolean;
    } = {},
  ): Promise<void> {
    const rows: unknown[][] = [];
    // All processes use the same order. Two writers of the same traces then wait for each other without a deadlock.
    for (const { request, lastSeq } of requests.toSorted(byTraceId)) {
      let seq = lastSeq;
      for (const { body, json } of request.events) {
        // The order of the columns in the statement above.
        rows.push([request.traceId, ++seq, request.attempt, request.at, body.type, json]);
      }
    }
    await this.#database.runEach([...before, { statement: this.#insert, rows }], options);
  }
}

/** True when a request was written under its numbers. Its first event decides. */
export async function isWritten(
  queries: Kysely<DatabaseSchema>,
  numbered: NumberedRequest | undefined,
): Promise<boolean> {
  const [first] = numbered?.request.events ?? [];
  if (numbered === undefined || first === undefined) return false;
  const { request, lastSeq } = numbered;
  const row = await queries
    .selectFrom('events')
    .selectAll()
    .where('trace_id', '=', request.traceId)
    .where('seq', '=', lastSeq + 1)
    .executeTakeFirst();
  return row !== undefined && row.attempt === request.attempt && row.at === request.at && row.body === first.json;
}

export async function readEvents(
  queries: Kysely<DatabaseSchema>,
  traceId: string,
  { after = 0, limit }: { readonly after?: number; readonly limit?: number | undefined } = {},
): Promise<TraceEvent[]> {
  const query = queries.selectFrom('events').selectAll().where('trace_id', '=', traceId).where('seq', '>', after);
  const rows = await (limit === undefined ? query : query.limit(limit)).orderBy('seq').execute();
  return rows.map(toTraceEvent);
}

/** The trace, computed from its events; undefined without events. */
export async function readTrace(queries: Kysely<DatabaseSchema>, identity: TraceIdentity): Promise<Trace | undefined> {
  return (await readProjection(queries, identity))?.toTrace();
}

/** The projection of all events of a trace; undefined without events. */
export async function readProjection(
  queries: Kysely<DatabaseSchema>,
  identity: TraceIdentity,
): Promise<TraceProjection | undefined> {
  const projection = new TraceProjection(identity);
  for (let after = 0; ; ) {
    const page = await readEvents(queries, identity.traceId, { after, limit: PAGE });
    for (const event of page) projection.add(event);
    after += page.length;
    if (page.length < PAGE) return after === 0 ? undefined : projection;
  }
}

/** The order in which all processes write to traces. */
export function byTraceId(a: NumberedRequest, b: NumberedRequest): number {
  if (a.request.traceId === b.request.traceId) return 0;
  return a.request.traceId < b.request.traceId ? -1 : 1;
}

/** Parses a row without validation, because this layer wrote it. */
export function toTraceEvent({ seq, at, attempt, body }: Omit<EventsTable, 'trace_id' | 'type'>): TraceEvent {
  return { seq, at: new Date(at).toISOString(), attempt, ...(JSON.parse(body) as EventBody) };
}
