import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { EventBody, EventOf, TraceEvent } from '../contract/event.ts';
import type { Trace, TraceSummary } from '../contract/trace.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import type { DatabaseSchema, EventsTable } from '../database/schema.ts';
import { type AppendRequest, appendEvents, encodeEvent, toEvents, toRows } from './append-events.ts';
import { BLOB_PREFIX } from './blob-references.ts';
import { EventStatements, lastSeq } from './event-statements.ts';
import { GroupCommit } from './group-commit.ts';
import { TraceProjection, toSummary } from './projection.ts';
import { listTraceRows } from './trace-list.ts';
import {
  type Alongside,
  AttemptSupersededError,
  type NewTrace,
  type TraceQuery,
  type TraceRow,
  type TraceStore,
} from './trace-store.ts';

export interface TraceStoreOptions {
  /** Where the pages are: a trace's address is `{appUrl}/traces/<trace_id>`. */
  readonly appUrl: string;
  /** Milliseconds since 1970; default the clock's. */
  readonly now?: () => number;
}

/** The traces of a database. It holds nothing that has to be closed; the database is its owner's. */
export function createTraceStore(database: Database, options: TraceStoreOptions): TraceStore {
  return new DatabaseTraceStore(database, options);
}

type Queries = Kysely<DatabaseSchema>;
type Listener = (events: readonly TraceEvent[]) => void;

const UNFINISHED = ['queued', 'running'];

/** Events read at once: what bounds the memory of a long trace's reader. */
const EVENT_PAGE = 500;

class DatabaseTraceStore implements TraceStore {
  readonly #database: Database;
  readonly #appUrl: string;
  readonly #now: () => number;
  readonly #statements: EventStatements;
  readonly #appends: GroupCommit<AppendRequest, readonly TraceEvent[]>;
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(database: Database, { appUrl, now = Date.now }: TraceStoreOptions) {
    this.#database = database;
    this.#appUrl = appUrl.replace(/\/+$/, '');
    this.#now = now;
    this.#statements = new EventStatements(database.kysely);
    this.#appends = new GroupCommit((requests) => this.#commit(requests));
  }

  async create({ traceId, account, queued }: NewTrace, alongside?: Alongside): Promise<void> {
    const at = this.#now();
    const body: EventOf<'run.queued'> = { type: 'run.queued', ...queued, previous_end: null };
    const request: AppendRequest = { traceId, attempt: 1, at, events: [encodeEvent(body)] };
    await this.#database.transaction(async (transaction) => {
      await insertTraceRow(transaction, { traceId, account, at, body });
      await this.#statements.insert(transaction, toRows({ last_seq: 0 }, request));
      await alongside?.(transaction);
    });
    this.#tell(traceId, toEvents({ last_seq: 0 }, request));
  }

  async append(traceId: string, attempt: number, bodies: readonly EventBody[]): Promise<readonly TraceEvent[]> {
    refuseOutOfOrder(bodies);
    if (bodies.length === 0) return [];
    return await this.#appends.submit({ traceId, attempt, at: this.#now(), events: bodies.map(encodeEvent) });
  }

  async startNextAttempt(
    traceId: string,
    attempt: number,
    end: 'lost' | 'released',
    alongside?: Alongside,
  ): Promise<number> {
    const events = await this.#database.transaction(async (transaction) => {
      const row = await transaction
        .updateTable('traces')
        .set({ attempt: attempt + 1, status: 'queued' })
        .where('trace_id', '=', traceId)
        .where('attempt', '=', attempt)
        .where('status', 'in', UNFINISHED)
        .returning(['request'])
        .executeTakeFirst();
      const head = (await this.#statements.heads(transaction, [traceId])).get(traceId);
      if (row === undefined || head === undefined) throw new AttemptSupersededError(traceId, attempt);
      const body: EventOf<'run.queued'> = { ...parseRequest(row.request), previous_end: end };
      const request: AppendRequest = { traceId, attempt: attempt + 1, at: this.#now(), events: [encodeEvent(body)] };
      await this.#statements.insert(transaction, toRows(head, request));
      await alongside?.(transaction);
      return toEvents(head, request);
    });
    this.#tell(traceId, events);
    return attempt + 1;
  }

  async requestCancel(traceId: string): Promise<boolean> {
    const row = await this.#database.kysely
      .updateTable('traces')
      .set({ cancel_requested: 1 })
      .where('trace_id', '=', traceId)
      .where('status', 'in', UNFINISHED)
      .returning('trace_id')
      .executeTakeFirst();
    return row !== undefined;
  }

  async remove(traceId: string): Promise<boolean> {
    return await this.#database.transaction(async (transaction) => {
      const row = await transaction
        .deleteFrom('traces')
        .where('trace_id', '=', traceId)
        .where('status', 'not in', UNFINISHED)
        .returning('trace_id')
        .executeTakeFirst();
      if (row === undefined) return false;
      await transaction.deleteFrom('events').where('trace_id', '=', traceId).execute();
      return true;
    });
  }

  async row(traceId: string): Promise<TraceRow | undefined> {
    const row = await this.#database.kysely
      .selectFrom('traces')
      .select(['trace_id', 'account', 'origin', 'status', 'attempt', 'cancel_requested', 'request'])
      .select(lastSeq)
      .where('trace_id', '=', traceId)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    return {
      traceId: row.trace_id,
      account: row.account,
      origin: row.origin as TraceRow['origin'],
      status: row.status as TraceRow['status'],
      attempt: row.attempt,
      lastSeq: row.last_seq,
      cancelRequested: row.cancel_requested !== 0,
      request: parseRequest(row.request),
    };
  }

  async events(traceId: string, { after = 0, limit }: { after?: number; limit?: number } = {}): Promise<TraceEvent[]> {
    return await readEvents(this.#database.kysely, traceId, after, limit);
  }

  async trace(traceId: string, account?: string): Promise<Trace | undefined> {
    const row = await this.#database.kysely
      .selectFrom('traces')
      .select('account')
      .where('trace_id', '=', traceId)
      .executeTakeFirst();
    if (row === undefined || (account !== undefined && row.account !== account)) return undefined;
    return await this.#project(this.#database.kysely, traceId);
  }

  async list(query: TraceQuery): Promise<{ data: TraceSummary[]; nextCursor: string | null }> {
    const { rows, nextCursor } = await listTraceRows(this.#database.kysely, query);
    const data: TraceSummary[] = [];
    // One after another: an unfinished trace is projected, and only one at a time is held in memory.
    for (const { trace_id: traceId, summary } of rows) {
      data.push(
        summary === null
          ? toSummary(await this.#project(this.#database.kysely, traceId))
          : { ...(JSON.parse(summary) as TraceSummary), trace_url: this.#urlOf(traceId) },
      );
    }
    return { data, nextCursor };
  }

  subscribe(traceId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(traceId) ?? new Set();
    this.#listeners.set(traceId, listeners);
    const own: Listener = (events) => listener(events); // the same function may listen twice
    listeners.add(own);
    return () => {
      listeners.delete(own);
      if (listeners.size === 0 && this.#listeners.get(traceId) === listeners) this.#listeners.delete(traceId);
    };
  }

  async putBlob(bytes: Uint8Array, mimeType: string): Promise<string> {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const { kysely } = this.#database;
    const known = await kysely.selectFrom('blobs').select('sha256').where('sha256', '=', sha256).executeTakeFirst();
    if (known === undefined) {
      await kysely
        .insertInto('blobs')
        .values({ sha256, mime_type: mimeType, bytes })
        .onConflict((conflict) => conflict.column('sha256').doNothing())
        .execute();
    }
    return `${BLOB_PREFIX}${sha256}`;
  }

  async blob(sha256: string): Promise<{ bytes: Uint8Array; mimeType: string } | undefined> {
    const row = await this.#database.kysely
      .selectFrom('blobs')
      .select(['bytes', 'mime_type'])
      .where('sha256', '=', sha256)
      .executeTakeFirst();
    return row && { bytes: row.bytes, mimeType: row.mime_type };
  }

  async #commit(requests: readonly AppendRequest[]): Promise<readonly (readonly TraceEvent[] | Error)[]> {
    const results = await this.#database.transaction((transaction) =>
      appendEvents(
        { transaction, statements: this.#statements, project: (traceId) => this.#project(transaction, traceId) },
        requests,
      ),
    );
    if (this.#listeners.size > 0) {
      for (const [index, result] of results.entries()) {
        const traceId = requests[index]?.traceId;
        if (traceId !== undefined && Array.isArray(result)) this.#tell(traceId, result);
      }
    }
    return results;
  }

  async #project(queries: Queries, traceId: string): Promise<Trace> {
    const projection = new TraceProjection({ traceId, traceUrl: this.#urlOf(traceId) });
    let after = 0;
    for (;;) {
      const page = await readEvents(queries, traceId, after, EVENT_PAGE);
      for (const event of page) projection.add(event);
      if (page.length < EVENT_PAGE) return projection.toTrace();
      after += page.length;
    }
  }

  /** The events are durable whatever a listener does with them, so its failure is reported and not passed on. */
  #tell(traceId: string, events: readonly TraceEvent[]): void {
    for (const listener of [...(this.#listeners.get(traceId) ?? [])]) {
      try {
        listener(events);
      } catch (error) {
        process.emitWarning(error instanceof Error ? error : new Error(String(error)));
      }
    }
  }

  #urlOf(traceId: string): string {
    return `${this.#appUrl}/traces/${traceId}`;
  }
}

function refuseOutOfOrder(bodies: readonly EventBody[]): void {
  for (const [index, { type }] of bodies.entries()) {
    if (type === 'run.queued') throw new TypeError('run.queued is written by create and startNextAttempt alone');
    if (type === 'run.finished' && index < bodies.length - 1) {
      throw new TypeError('run.finished is the last event of a trace: nothing can be appended after it');
    }
  }
}

async function insertTraceRow(
  transaction: DatabaseTransaction,
  {
    traceId,
    account,
    at,
    body,
  }: {
    readonly traceId: string;
    readonly account: string;
    readonly at: number;
    readonly body: EventOf<'run.queued'>;
  },
): Promise<void> {
  await transaction
    .insertInto('traces')
    .values({
      trace_id: traceId,
      account,
      origin: body.origin,
      status: 'queued',
      attempt: 1,
      cancel_requested: 0,
      env_name: body.env_name,
      scenario_name: body.scenario_name,
      model: body.model,
      created_at: at,
      metadata: JSON.stringify(body.metadata),
      request: JSON.stringify(body),
    })
    .execute();
  const metadata = Object.entries(body.metadata);
  if (metadata.length === 0) return;
  await transaction
    .insertInto('trace_metadata')
    .values(metadata.map(([key, value]) => ({ trace_id: traceId, key, value, account, created_at: at })))
    .execute();
}

async function readEvents(queries: Queries, traceId: string, after: number, limit?: number): Promise<TraceEvent[]> {
  const query = queries.selectFrom('events').selectAll().where('trace_id', '=', traceId).where('seq', '>', after);
  const rows = await (limit === undefined ? query : query.limit(limit)).orderBy('seq').execute();
  return rows.map(toTraceEvent);
}

function toTraceEvent({ seq, at, attempt, body }: EventsTable): TraceEvent {
  return { seq, at: new Date(at).toISOString(), attempt, ...(JSON.parse(body) as EventBody) };
}

/** Rows hold what this store wrote from checked values; reading it back is the one place that trusts it. */
function parseRequest(request: string): EventOf<'run.queued'> {
  return JSON.parse(request) as EventOf<'run.queued'>;
}
