import type { EventBody, EventOf, TraceEvent } from '../contract/event.ts';
import type { Trace, TraceSummary } from '../contract/trace.ts';
import type { Database } from '../database/database.ts';
import { type AppendContext, type AppendedGroup, appendEvents } from './append-events.ts';
import { BLOB_PREFIX } from './blob-references.ts';
import { putBlob, readBlob } from './blob-rows.ts';
import { type AppendRequest, EventWriter, encodeEvent, readEvents, readTrace, toEvents } from './event-rows.ts';
import { GroupCommit } from './group-commit.ts';
import { toSummary } from './projection.ts';
import { readHead, TraceHeads } from './trace-heads.ts';
import { listTraceRows } from './trace-list.ts';
import { insertTraceRow, readTraceRow, requeueTraceRow, UNFINISHED } from './trace-rows.ts';
import {
  type Alongside,
  AttemptSupersededError,
  type NewTrace,
  type TraceQuery,
  type TraceRow,
  type TraceStore,
} from './trace-store.ts';

export interface TraceStoreOptions {
  /** Where the pages are: a trace's address is `{appUrl}/traces/<trace_id>`. A function where that is not known yet. */
  readonly appUrl: string | (() => string);
  /** Milliseconds since 1970; default the clock's. */
  readonly now?: () => number;
}

/** The traces of a database. There is nothing to close; the database is its owner's. */
export function createTraceStore(database: Database, options: TraceStoreOptions): TraceStore {
  return new DatabaseTraceStore(database, options);
}

type Listener = (events: readonly TraceEvent[]) => void;

class DatabaseTraceStore implements TraceStore {
  readonly #database: Database;
  readonly #appUrl: () => string;
  readonly #now: () => number;
  readonly #writer: EventWriter;
  readonly #heads = new TraceHeads();
  readonly #appendContext: AppendContext;
  readonly #appends: GroupCommit<AppendRequest, readonly TraceEvent[]>;
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(database: Database, { appUrl, now = Date.now }: TraceStoreOptions) {
    this.#database = database;
    this.#appUrl = typeof appUrl === 'function' ? appUrl : () => appUrl;
    this.#now = now;
    this.#writer = new EventWriter(database);
    this.#appendContext = {
      database,
      heads: this.#heads,
      writer: this.#writer,
      project: (transaction, traceId) => readTrace(transaction, traceId, this.#urlOf(traceId)),
    };
    this.#appends = new GroupCommit<AppendRequest, readonly TraceEvent[]>((requests) => this.#commit(requests));
  }

  async create({ traceId, account, queued }: NewTrace, alongside?: Alongside): Promise<void> {
    const at = this.#now();
    const body: EventOf<'run.queued'> = { type: 'run.queued', ...queued, previous_end: null };
    const request: AppendRequest = { traceId, attempt: 1, at, events: [encodeEvent(body)] };
    await this.#database.transaction(async (transaction) => {
      await insertTraceRow(transaction, { traceId, account, createdAt: at, request: body });
      await this.#writer.insert([{ request, lastSeq: 0 }], transaction);
      await alongside?.(transaction);
    });
    this.#heads.remember(traceId, { attempt: 1, status: 'queued', lastSeq: 1 });
    this.#tell(traceId, toEvents(request, 0));
  }

  async append(traceId: string, attempt: number, bodies: readonly EventBody[]): Promise<readonly TraceEvent[]> {
    refuseOutOfPlace(bodies);
    if (bodies.length === 0) return [];
    return await this.#appends.submit({ traceId, attempt, at: this.#now(), events: bodies.map(encodeEvent) });
  }

  async startNextAttempt(
    traceId: string,
    attempt: number,
    end: 'lost' | 'released',
    alongside?: Alongside,
  ): Promise<number> {
    const next = attempt + 1;
    const { lastSeq, request } = await this.#database.transaction(async (transaction) => {
      const asked = await requeueTraceRow(transaction, traceId, attempt);
      const head = await readHead(transaction, traceId);
      if (asked === undefined || head === undefined) throw new AttemptSupersededError(traceId, attempt);
      const body = encodeEvent({ ...asked, previous_end: end });
      const written = { request: { traceId, attempt: next, at: this.#now(), events: [body] }, lastSeq: head.lastSeq };
      await this.#writer.insert([written], transaction);
      await alongside?.(transaction);
      return written;
    });
    this.#heads.remember(traceId, { attempt: next, status: 'queued', lastSeq: lastSeq + 1 });
    this.#tell(traceId, toEvents(request, lastSeq));
    return next;
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
    // Events and metadata refer to the row and go with it.
    const row = await this.#database.kysely
      .deleteFrom('traces')
      .where('trace_id', '=', traceId)
      .where('status', 'not in', UNFINISHED)
      .returning('trace_id')
      .executeTakeFirst();
    return row !== undefined;
  }

  async row(traceId: string): Promise<TraceRow | undefined> {
    return await readTraceRow(this.#database.kysely, traceId);
  }

  async events(
    traceId: string,
    options?: { readonly after?: number; readonly limit?: number },
  ): Promise<readonly TraceEvent[]> {
    return await readEvents(this.#database.kysely, traceId, options);
  }

  async trace(traceId: string, account?: string): Promise<Trace | undefined> {
    const row = await this.#database.kysely
      .selectFrom('traces')
      .select('account')
      .where('trace_id', '=', traceId)
      .executeTakeFirst();
    if (row === undefined || (account !== undefined && row.account !== account)) return undefined;
    return await readTrace(this.#database.kysely, traceId, this.#urlOf(traceId));
  }

  async list(query: TraceQuery): Promise<{ data: TraceSummary[]; nextCursor: string | null }> {
    const { rows, nextCursor } = await listTraceRows(this.#database.kysely, query);
    const data: TraceSummary[] = [];
    for (const { trace_id: traceId, summary } of rows) {
      const traceUrl = this.#urlOf(traceId);
      if (summary !== null) {
        data.push({ ...(JSON.parse(summary) as TraceSummary), trace_url: traceUrl });
        continue;
      }
      // Unfinished ones are projected one after another, so that only one is held in memory.
      const trace = await readTrace(this.#database.kysely, traceId, traceUrl);
      if (trace !== undefined) data.push(toSummary(trace));
    }
    return { data, nextCursor };
  }

  subscribe(traceId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(traceId) ?? new Set();
    this.#listeners.set(traceId, listeners);
    const own: Listener = (events) => listener(events); // one function may listen twice
    listeners.add(own);
    return () => {
      listeners.delete(own);
      if (listeners.size === 0 && this.#listeners.get(traceId) === listeners) this.#listeners.delete(traceId);
    };
  }

  async putBlob(bytes: Uint8Array, mimeType: string): Promise<string> {
    return `${BLOB_PREFIX}${await putBlob(this.#database.kysely, bytes, mimeType)}`;
  }

  async blob(sha256: string): Promise<{ readonly bytes: Uint8Array; readonly mimeType: string } | undefined> {
    return await readBlob(this.#database.kysely, sha256);
  }

  async #commit(requests: readonly AppendRequest[]): Promise<AppendedGroup['results']> {
    const { results, heads } = await this.#appendGroup(requests);
    for (const [traceId, head] of heads) this.#heads.remember(traceId, head);
    for (const [index, result] of results.entries()) {
      const traceId = requests[index]?.traceId;
      if (traceId !== undefined && Array.isArray(result)) this.#tell(traceId, result);
    }
    return results;
  }

  async #appendGroup(requests: readonly AppendRequest[]): Promise<AppendedGroup> {
    try {
      return await appendEvents(requests, this.#appendContext);
    } catch (error) {
      // Another process may have written since: the second try, of each alone, reads where its trace stands.
      for (const { traceId } of requests) this.#heads.forget(traceId);
      throw error;
    }
  }

  /** The events are durable whatever a listener does with them, so that its failure is reported and not passed on. */
  #tell(traceId: string, events: readonly TraceEvent[]): void {
    const listeners = this.#listeners.get(traceId);
    if (listeners === undefined) return;
    for (const listener of [...listeners]) {
      try {
        listener(events);
      } catch (error) {
        process.emitWarning(error instanceof Error ? error : new Error(String(error)));
      }
    }
  }

  #urlOf(traceId: string): string {
    return `${this.#appUrl().replace(/\/+$/, '')}/traces/${traceId}`;
  }
}

function refuseOutOfPlace(bodies: readonly EventBody[]): void {
  for (const [index, { type }] of bodies.entries()) {
    if (type === 'run.queued') throw new TypeError('run.queued is written by create and startNextAttempt alone');
    if (type === 'run.finished' && index < bodies.length - 1) {
      throw new TypeError('run.finished is the last event of a trace: nothing can be appended after it');
    }
  }
}
