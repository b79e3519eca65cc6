import type { RunErrorBody } from '../../contract/error-shapes.ts';
import type { EventBody, TraceEvent } from '../../contract/service/event.ts';
import type { TraceTotals, UsageGroup } from '../../contract/service/totals.ts';
import type { Trace, TraceSummary } from '../../contract/service/trace.ts';
import { createRedactor, NO_REDACTION, type Redactor } from '../../support/redaction/redactor.ts';
import { secretsOfVariables } from '../../support/redaction/secrets.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import { untilWritten } from '../database/until-written.ts';
import { TraceCreator } from './create-traces.ts';
import { EventAppender } from './event-appender.ts';
import { redactBytes, redactEvent } from './redact-event.ts';
import { BLOB_PREFIX } from './rows/blob-references.ts';
import { putBlob, readBlob } from './rows/blob-rows.ts';
import {
  type EncodedEvent,
  EventWriter,
  encodeEvent,
  isWritten,
  type NumberedRequest,
  readEvents,
  refuseOutOfPlace,
  toEvents,
} from './rows/event-rows.ts';
import type { SummaryOptions, TraceFilters } from './rows/trace-filters.ts';
import { lockTraceAndEvents, readHead } from './rows/trace-heads.ts';
import { readTraceRows, requeueTraceRow, UNFINISHED } from './rows/trace-rows.ts';
import { TraceReader } from './trace-reader.ts';
import {
  type Alongside,
  type AppendListener,
  AttemptSupersededError,
  type Chosen,
  type NewTrace,
  type TraceQuery,
  type TraceRow,
  type TraceStore,
} from './trace-store.ts';
import type { UsageQuery } from './usage.ts';

export interface TraceStoreOptions {
  /** Address of the pages: a trace is at `{appUrl}/traces/<trace_id>`. A function when the address is not known yet. */
  readonly appUrl: string | (() => string);
  /** Milliseconds since 1970. Default: the clock. */
  readonly now?: () => number;
  /**
   * Removes secrets from everything that is stored. Default: texts in the form of a credential, and the values of
   * environment variables with secret names. False stores everything unchanged.
   */
  readonly redactor?: Redactor | false | undefined;
}

/** The traces of a database. The store needs no `close`; the owner of the database closes that. */
export function createTraceStore(database: Database, options: TraceStoreOptions): TraceStore {
  return new DatabaseTraceStore(database, options);
}

type Listener = (events: readonly TraceEvent[]) => void;

class DatabaseTraceStore implements TraceStore {
  readonly redactor: Redactor;
  readonly #database: Database;
  readonly #appUrl: () => string;
  readonly #now: () => number;
  readonly #writer: EventWriter;
  readonly #creator: TraceCreator;
  readonly #appender: EventAppender;
  readonly #reader: TraceReader;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #observers = new Set<AppendListener>();

  constructor(database: Database, { appUrl, now = Date.now, redactor }: TraceStoreOptions) {
    this.#database = database;
    this.redactor = redactor === false ? NO_REDACTION : (redactor ?? createRedactor(secretsOfVariables(process.env)));
    this.#appUrl = typeof appUrl === 'function' ? appUrl : () => appUrl;
    this.#now = now;
    this.#writer = new EventWriter(database);
    this.#reader = new TraceReader(database, (traceId) => this.#urlOf(traceId));
    this.#creator = new TraceCreator(database, this.#writer, {
      now,
      encode: (body) => this.#encode(body),
      onCreated: (traceId, events) => {
        this.#appender.stands(traceId, { attempt: 1, status: 'queued', lastSeq: 1 });
        this.#tell(traceId, events);
      },
    });
    this.#appender = new EventAppender(database, this.#writer, {
      urlOf: (traceId) => this.#urlOf(traceId),
      onWritten: (traceId, events) => this.#tell(traceId, events),
    });
  }

  async create(trace: NewTrace, inTransaction?: Alongside): Promise<void> {
    await this.#creator.create(trace, inTransaction);
  }

  async createChosen(choose: (transaction: DatabaseTransaction) => Promise<Chosen>): Promise<number> {
    return await this.#creator.createChosen(choose);
  }

  async append(traceId: string, attempt: number, bodies: readonly EventBody[]): Promise<readonly TraceEvent[]> {
    refuseOutOfPlace(bodies);
    if (bodies.length === 0) return [];
    const startedAt = performance.now();
    const events = await this.#appender.append({
      traceId,
      attempt,
      at: this.#now(),
      events: bodies.map((body) => this.#encode(body)),
    });
    for (const observe of this.#observers) observe(traceId, events, performance.now() - startedAt);
    return events;
  }

  async startNextAttempt(
    traceId: string,
    attempt: number,
    end: 'lost' | 'released',
    inTransaction?: Alongside,
    error: RunErrorBody | null = null,
  ): Promise<number> {
    const next = attempt + 1;
    const at = this.#now();
    const tried: NumberedRequest[] = [];
    const write = () =>
      this.#database.transaction(async (transaction) => {
        if (this.#database.kind === 'postgres') await lockTraceAndEvents(transaction, traceId);
        const asked = await requeueTraceRow(transaction, traceId, attempt);
        const head = await readHead(transaction, traceId);
        if (asked === undefined || head === undefined) throw new AttemptSupersededError(traceId, attempt);
        const why = error === null ? {} : { previous_error: error };
        const body = this.#encode({ ...asked, previous_end: end, ...why });
        const written = { request: { traceId, attempt: next, at, events: [body] }, lastSeq: head.lastSeq };
        tried.push(written);
        await this.#writer.insert([written], { transaction });
        await inTransaction?.(transaction);
        return written;
      });
    const { lastSeq, request } = await untilWritten(write, {
      found: async () => {
        for (const each of tried) if (await this.#isWritten(each)) return each;
        return undefined;
      },
      // The old attempt may have written under this number; its event stays in front of the new attempt.
      onTaken: () => {},
    });
    this.#appender.stands(traceId, { attempt: next, status: 'queued', lastSeq: lastSeq + 1 });
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
    const { removeTrace } = await import('./remove-trace.ts');
    return await removeTrace(this.#database, traceId);
  }

  async row(traceId: string): Promise<TraceRow | undefined> {
    return (await this.rows([traceId])).get(traceId);
  }

  async rows(traceIds: readonly string[]): Promise<ReadonlyMap<string, TraceRow>> {
    if (traceIds.length === 0) return new Map();
    const found = await readTraceRows(this.#database.kysely, traceIds);
    for (const opened of found) this.#appender.opened(opened);
    return new Map(found.map(({ row }) => [row.traceId, row]));
  }

  async cancelRequests(traceIds: readonly string[]): Promise<readonly string[]> {
    if (traceIds.length === 0) return [];
    const rows = await this.#database.kysely
      .selectFrom('traces')
      .select('trace_id')
      .where('trace_id', 'in', traceIds)
      .where('cancel_requested', '!=', 0)
      .execute();
    return rows.map(({ trace_id }) => trace_id);
  }

  async events(
    traceId: string,
    options?: { readonly after?: number; readonly limit?: number },
  ): Promise<readonly TraceEvent[]> {
    return await readEvents(this.#database.kysely, traceId, options);
  }

  async trace(traceId: string, account?: string): Promise<Trace | undefined> {
    return await this.#reader.trace(traceId, account);
  }

  async traceSummary(traceId: string, account?: string): Promise<TraceSummary | undefined> {
    return await this.#reader.summary(traceId, account);
  }

  async list(query: TraceQuery): Promise<{ data: TraceSummary[]; nextCursor: string | null }> {
    return await this.#reader.list(query);
  }

  subscribe(traceId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(traceId) ?? new Set();
    this.#listeners.set(traceId, listeners);
    // A new function each time, so that one listener may be added twice.
    const own: Listener = (events) => listener(events);
    listeners.add(own);
    return () => {
      listeners.delete(own);
      if (listeners.size === 0 && this.#listeners.get(traceId) === listeners) this.#listeners.delete(traceId);
    };
  }

  observe(listener: AppendListener): () => void {
    // A new function each time, so that one listener may be added twice.
    const own: AppendListener = (...append) => listener(...append);
    this.#observers.add(own);
    return () => this.#observers.delete(own);
  }

  async summary(filters: TraceFilters, options?: SummaryOptions): Promise<TraceTotals> {
    const { summarizeTraces } = await import('./trace-summary.ts');
    return await summarizeTraces(this.#database.scans, filters, options);
  }

  async usage(query: UsageQuery): Promise<readonly UsageGroup[]> {
    const { readUsage } = await import('./usage.ts');
    return await readUsage(this.#database.scans, query);
  }

  async putBlob(traceId: string, bytes: Uint8Array, mimeType: string): Promise<string> {
    return `${BLOB_PREFIX}${await putBlob(this.#database, traceId, redactBytes(bytes, mimeType, this.redactor), mimeType)}`;
  }

  async blob(
    sha256: string,
    account?: string,
  ): Promise<{ readonly bytes: Uint8Array; readonly mimeType: string } | undefined> {
    return await readBlob(this.#database.kysely, sha256, account);
  }

  async #isWritten(numbered: NumberedRequest): Promise<boolean> {
    return await isWritten(this.#database.kysely, numbered);
  }

  /** Calls the listeners of a trace. The events are durable already, so an error of a listener is only reported. */
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

  /** All events are encoded here, so that everything in the store is redacted. */
  #encode<Body extends EventBody>(body: Body): EncodedEvent<Body> {
    return encodeEvent(redactEvent(body, this.redactor));
  }

  #urlOf(traceId: string): string {
    return `${this.#appUrl().replace(/\/+$/, '')}/traces/${traceId}`;
  }
}
