import type { RunErrorBody } from '../contract/errors.ts';
import type { EventBody, EventOf, TraceEvent } from '../contract/event.ts';
import type { RunStatus } from '../contract/run.ts';
import type { TraceTotals, UsageGroup } from '../contract/totals.ts';
import type { AttemptEnd, Origin, Trace, TraceSummary } from '../contract/trace.ts';
import type { DatabaseTransaction } from '../database/database.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { SummaryOptions, TraceFilters } from './trace-filters.ts';
import type { UsageQuery } from './usage.ts';

/**
 * The append-only events of every trace, and what is projected from them. What resolves is durable: it survives
 * `kill -9`. That a run was accepted, started, handed on or finished survives a power cut too, with all events before.
 * One store serves every process that opened the same database.
 */
export interface TraceStore {
  /** Takes secrets out of what is stored; whoever stores something beside the events does it by this. */
  readonly redactor: Redactor;

  /** Writes the trace's row and its `run.queued`, with whatever `alongside` writes, in one transaction. */
  create(trace: NewTrace, alongside?: Alongside): Promise<void>;
  /**
   * Writes the traces that `choose` gives, with whatever it writes itself, in one transaction: for whoever decides by what
   * the database says. One whose connection was lost may have been committed: `choose` finds that out when it is called
   * again by its caller.
   *
   * @returns how many traces. @throws what `choose` throws: nothing is written then.
   */
  createChosen(choose: (transaction: DatabaseTransaction) => Promise<Chosen>): Promise<number>;
  /**
   * Appends events of one attempt, in order; concurrent appends are committed in groups. Resolves once durable.
   * `run.finished` is the last event of a trace; `run.queued` is written by `create` and `startNextAttempt` alone.
   *
   * @throws AttemptSupersededError when the attempt is no longer the current one or the trace is finished: nothing was
   *   written, and the caller has to stop.
   */
  append(traceId: string, attempt: number, bodies: readonly EventBody[]): Promise<readonly TraceEvent[]>;
  /**
   * Ends the attempt as `lost` or `released` and queues the next one: `run.queued` again, with `alongside`.
   *
   * @param error why it was lost, where that is known.
   * @returns the next attempt's number. @throws AttemptSupersededError as `append` does.
   */
  startNextAttempt(
    traceId: string,
    attempt: number,
    end: Extract<AttemptEnd, 'lost' | 'released'>,
    alongside?: Alongside,
    error?: RunErrorBody | null,
  ): Promise<number>;

  /**
   * Asks whoever holds the run to end it: sets `cancelRequested` of the row.
   *
   * @returns false where there is no such trace, or where it is finished.
   */
  requestCancel(traceId: string): Promise<boolean>;
  /**
   * Deletes a finished trace with its events, its metadata, and the blobs that no other trace refers to. What it has
   * used stays counted.
   *
   * @returns false where there is no such trace, or where it is not finished.
   */
  remove(traceId: string): Promise<boolean>;

  /** The row of a trace; undefined where there is none. */
  row(traceId: string): Promise<TraceRow | undefined>;
  /** The rows of those traces that exist, by their ids. */
  rows(traceIds: readonly string[]): Promise<ReadonlyMap<string, TraceRow>>;
  /** Those of the traces whose runs somebody has asked to cancel. */
  cancelRequests(traceIds: readonly string[]): Promise<readonly string[]>;
  /** Events after `after` (a sequence number, default 0), oldest first. */
  events(
    traceId: string,
    options?: { readonly after?: number; readonly limit?: number },
  ): Promise<readonly TraceEvent[]>;
  /** Projected from the events; undefined where there is none, or where it is another account's. */
  trace(traceId: string, account?: string): Promise<Trace | undefined>;
  /**
   * Many traces in the order of their ids; one that is not there is left out. Their events are read ahead, a megabyte at a
   * time or one trace of more, and where they can by a thread of their own.
   *
   * @throws the reason of the signal.
   */
  traces(traceIds: readonly string[], signal: AbortSignal): AsyncIterable<Trace>;
  /** As lists hold it; the events of a trace that has ended need not be read for that. */
  traceSummary(traceId: string, account?: string): Promise<TraceSummary | undefined>;
  /** @throws ApiError invalid_parameter for a limit or a cursor that is not one of this query. */
  list(query: TraceQuery): Promise<{ readonly data: readonly TraceSummary[]; readonly nextCursor: string | null }>;
  /** Calls back after each commit of this process that touched the trace. For live views; returns the way to stop. */
  subscribe(traceId: string, listener: (events: readonly TraceEvent[]) => void): () => void;
  /** Calls back after each append of this process, with the milliseconds that it took. Returns the way to stop. */
  observe(listener: AppendListener): () => void;

  /** Sums over all traces that match the filters. */
  summary(filters: TraceFilters, options?: SummaryOptions): Promise<TraceTotals>;
  /** Usage of finished traces, including deleted ones. */
  usage(query: UsageQuery): Promise<readonly UsageGroup[]>;

  /** Stores bytes once by content, for as long as a trace refers to them: this one does from now on. @returns `svc-blob://sha256/<hex>`. */
  putBlob(traceId: string, bytes: Uint8Array, mimeType: string): Promise<string>;
  /** With an account: undefined where none of its traces refers to it. */
  blob(
    sha256: string,
    account?: string,
  ): Promise<{ readonly bytes: Uint8Array; readonly mimeType: string } | undefined>;
}

export type AppendListener = (traceId: string, events: readonly TraceEvent[], durationMs: number) => void;

/** Writes of another layer that belong to the same commit. Called again when the connection was lost before the commit. */
export type Alongside = (transaction: DatabaseTransaction) => Promise<void>;

/** Traces that were chosen inside of a transaction. */
export interface Chosen {
  readonly traces: readonly NewTrace[];
  /** Writes that refer to them. */
  readonly alongside?: Alongside | undefined;
}

export interface NewTrace {
  readonly traceId: string;
  readonly account: string;
  /** The API key that it was asked for with. Default null: none. */
  readonly keyId?: string | null;
  readonly queued: Omit<EventOf<'run.queued'>, 'type' | 'previous_end' | 'previous_error'>;
}

export interface TraceRow {
  readonly traceId: string;
  readonly account: string;
  readonly keyId: string | null;
  readonly origin: Origin;
  readonly status: RunStatus;
  readonly attempt: number;
  readonly lastSeq: number;
  /** Someone asked for it to be cancelled; the worker that holds it ends it. */
  readonly cancelRequested: boolean;
  /** The body of its first `run.queued`: what the run was asked to do. */
  readonly request: EventOf<'run.queued'>;
}

export interface TraceQuery extends TraceFilters {
  /** Descending; `created_at` where it says nothing. Traces without the value come last. */
  readonly sort?: 'created_at' | 'reward' | 'duration' | 'tokens';
  /** 1 to 100, default 50. */
  readonly limit?: number;
  /** The cursor of the previous page. @throws ApiError invalid_parameter for one that this store did not make. */
  readonly cursor?: string;
}

/** The attempt has moved on: another worker has the run, or it is finished. */
export class AttemptSupersededError extends Error {
  override readonly name = 'AttemptSupersededError';

  constructor(
    readonly traceId: string,
    readonly attempt: number,
  ) {
    super(`Attempt ${attempt} of trace ${traceId} is not the current one any more: nothing was written`);
  }
}
