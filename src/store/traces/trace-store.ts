import type { RunErrorBody } from '../../contract/error-shapes.ts';
import type { EventBody, EventOf, TraceEvent } from '../../contract/service/event.ts';
import type { RunStatus } from '../../contract/service/run.ts';
import type { TraceTotals, UsageGroup } from '../../contract/service/totals.ts';
import type { AttemptEnd, Origin, Trace, TraceSummary } from '../../contract/service/trace.ts';
import type { Redactor } from '../../support/redaction/redactor.ts';
import type { DatabaseTransaction } from '../database/database.ts';
import type { SummaryOptions, TraceFilters } from './rows/trace-filters.ts';
import type { UsageQuery } from './usage.ts';

/**
 * The append-only events of all traces, and the traces projected from them. A resolved write survives `kill -9`. The
 * acceptance, start, handover and end of a run survive a power cut too, with all earlier events. The store serves every
 * process with the same database.
 */
export interface TraceStore {
  /** Removes secrets from stored values. Code that stores values beside the events has to use it too. */
  readonly redactor: Redactor;

  /** Writes the trace's row, its `run.queued` event, and the writes of `inTransaction` in one transaction. */
  create(trace: NewTrace, inTransaction?: Alongside): Promise<void>;
  /**
   * Writes the traces that `choose` returns, and its own writes, in one transaction: for decisions that depend on the
   * database. A transaction whose connection was lost may have been committed. When the caller tries again, `choose`
   * has to detect that.
   *
   * @returns the number of traces. @throws errors of `choose`; nothing is written then.
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
   * Ends the attempt as `lost` or `released` and queues the next one with another `run.queued`, and the writes of
   * `inTransaction`.
   *
   * @param error the reason why it was lost, where it is known.
   * @returns the number of the next attempt. @throws AttemptSupersededError as `append` does.
   */
  startNextAttempt(
    traceId: string,
    attempt: number,
    end: Extract<AttemptEnd, 'lost' | 'released'>,
    inTransaction?: Alongside,
    error?: RunErrorBody | null,
  ): Promise<number>;

  /**
   * Asks the worker of the run to end it: sets `cancelRequested` in the row.
   *
   * @returns false when the trace does not exist or is finished.
   */
  requestCancel(traceId: string): Promise<boolean>;
  /**
   * Deletes a finished trace with its events, its metadata, and the blobs without other references. Its usage still
   * counts.
   *
   * @returns false when the trace does not exist or is not finished.
   */
  remove(traceId: string): Promise<boolean>;

  /** The row of a trace; undefined when it does not exist. */
  row(traceId: string): Promise<TraceRow | undefined>;
  /** The rows of the existing traces among these, by id. */
  rows(traceIds: readonly string[]): Promise<ReadonlyMap<string, TraceRow>>;
  /** The ids among `traceIds` of runs that a client asked to cancel. */
  cancelRequests(traceIds: readonly string[]): Promise<readonly string[]>;
  /** Events after `after` (a sequence number, default 0), oldest first. */
  events(
    traceId: string,
    options?: { readonly after?: number; readonly limit?: number },
  ): Promise<readonly TraceEvent[]>;
  /** The trace, projected from its events; undefined when it does not exist or belongs to another account. */
  trace(traceId: string, account?: string): Promise<Trace | undefined>;
  /** The trace in list form. For a finished trace this needs no events. */
  traceSummary(traceId: string, account?: string): Promise<TraceSummary | undefined>;
  /** @throws ApiError invalid_parameter for a bad limit, or a cursor of another query. */
  list(query: TraceQuery): Promise<{ readonly data: readonly TraceSummary[]; readonly nextCursor: string | null }>;
  /**
   * Calls back after each commit of this process that touched the trace, for live views. @returns a function that stops
   * the calls.
   */
  subscribe(traceId: string, listener: (events: readonly TraceEvent[]) => void): () => void;
  /**
   * Calls back after each append of this process, with its duration in milliseconds. @returns a function that stops the
   * calls.
   */
  observe(listener: AppendListener): () => void;

  /** Sums over all traces that match the filters. */
  summary(filters: TraceFilters, options?: SummaryOptions): Promise<TraceTotals>;
  /** Usage of finished traces, including deleted ones. */
  usage(query: UsageQuery): Promise<readonly UsageGroup[]>;

  /**
   * Stores bytes once per content, for as long as a trace refers to them, and refers to them from this trace. @returns
   * `svc-blob://sha256/<hex>`.
   */
  putBlob(traceId: string, bytes: Uint8Array, mimeType: string): Promise<string>;
  /** The bytes of a blob. With an account, undefined unless one of its traces refers to the blob. */
  blob(
    sha256: string,
    account?: string,
  ): Promise<{ readonly bytes: Uint8Array; readonly mimeType: string } | undefined>;
}

export type AppendListener = (traceId: string, events: readonly TraceEvent[], durationMs: number) => void;

/**
 * Writes of other code that belong to the same commit. They run again when the connection was lost before the commit.
 */
export type Alongside = (transaction: DatabaseTransaction) => Promise<void>;

/** Traces that a callback of `createChosen` selects. */
export interface Chosen {
  readonly traces: readonly NewTrace[];
  /** Writes that refer to these traces. */
  readonly inTransaction?: Alongside | undefined;
}

export interface NewTrace {
  readonly traceId: string;
  readonly account: string;
  /** The API key of the request. Default null: no key. */
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
  /** True when a client asked to cancel the run. The worker that holds the run ends it. */
  readonly cancelRequested: boolean;
  /** The first `run.queued` event, which holds the request. */
  readonly request: EventOf<'run.queued'>;
}

export interface TraceQuery extends TraceFilters {
  /** Sort column, descending. Default `created_at`. Traces without a value come last. */
  readonly sort?: 'created_at' | 'reward' | 'duration' | 'tokens';
  /** 1 to 100, default 50. */
  readonly limit?: number;
  /**
   * The cursor of the previous page. @throws ApiError invalid_parameter for a cursor that this store did not create.
   */
  readonly cursor?: string;
}

/** The attempt is no longer current: another worker has the run, or the run is finished. */
export class AttemptSupersededError extends Error {
  override readonly name = 'AttemptSupersededError';

  constructor(
    readonly traceId: string,
    readonly attempt: number,
  ) {
    super(`Attempt ${attempt} of trace ${traceId} is not the current one any more: nothing was written`);
  }
}
