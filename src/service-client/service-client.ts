import type { ModelDeltaEvent, TraceEvent } from '../contract/event.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { GradesQuery } from '../contract/replay.ts';
import type { EnvironmentList, EnvironmentToolList, RunAccepted, RunInput, RunStatus } from '../contract/run.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import type { TotalsGroupBy, TraceTotals, UsageGroupBy, UsageList } from '../contract/totals.ts';
import type { Origin, Trace, TraceList, TraceSummary } from '../contract/trace.ts';
import { type ChecksClient, createChecksClient } from './checks.ts';
import {
  Connection,
  createKey,
  isAway,
  MAX_FAILURES,
  type ServiceClientOptions,
  type ServiceRequest,
  waitToRetry,
} from './connection.ts';
import {
  createEvaluationsClient,
  createTasksetsClient,
  type EvaluationsClient,
  type TasksetsClient,
} from './evaluations-client.ts';
import { createModelsClient, type ModelsClient } from './models-client.ts';
import { createRegradesClient, type RegradesClient, replayTrace } from './regrades.ts';
import { everyItem, type RequestOptions, toQuery } from './requests.ts';
import { createSeatsClient, type SeatsClient } from './seats.ts';
import { type EventsOptions, readTraceEvents } from './trace-events.ts';
import { createTrainingClient, type TrainingClient } from './training-client.ts';

export { ApiError } from './api-error.ts';
export type { CheckListQuery, CheckQuery, ChecksClient } from './checks.ts';
export type { Fetch, ServiceClientOptions } from './connection.ts';
export type {
  AttemptListQuery,
  CompareQuery,
  CreateEvaluationOptions,
  EvaluationListQuery,
  EvaluationsClient,
  TaskListQuery,
  TasksetsClient,
} from './evaluations-client.ts';
export type { ModelsClient, RegisteredModelsClient } from './models-client.ts';
export type { RegradeQuery, RegradesClient } from './regrades.ts';
export type { RequestOptions } from './requests.ts';
export type { SeatsClient } from './seats.ts';
export type { EventsOptions } from './trace-events.ts';

export interface TraceFilters {
  readonly env_name?: string;
  readonly scenario_name?: string;
  readonly model?: string;
  readonly status?: RunStatus;
  readonly origin?: Origin;
  readonly evaluation_id?: string;
  readonly task_id?: string;
  /** From 1. */
  readonly attempt_index?: number;
  readonly outcome?: Outcome;
  /** The trace that they repeat, wholly or in part. */
  readonly parent?: string;
  /** Rewards of the runs (the default), or by the newest grades where there are some. */
  readonly grades?: GradesQuery;
  readonly min_reward?: number;
  readonly max_reward?: number;
  /** ISO 8601, both inclusive. */
  readonly since?: string;
  readonly until?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface TraceListQuery extends TraceFilters {
  /** Descending; newest first where it says nothing. */
  readonly sort?: 'created_at' | 'reward' | 'duration' | 'tokens';
  /** 1 to 100, default 50. */
  readonly limit?: number;
  /** The `next_cursor` of the page before. */
  readonly cursor?: string;
}

export interface CreateRunOptions extends RequestOptions {
  /** Seconds that the answer may wait for the end of the run, at most 240: then it has `reward` and `answer`. */
  readonly waitSeconds?: number;
  /** Default: one of its own for each call, so that a lost connection does not make two runs. */
  readonly idempotencyKey?: string;
}

/**
 * A run service, typed. It works in Node.js and in browsers. Every method rejects with an `ApiError` for what the service
 * refuses, and with the reason of the signal when that is aborted. What can be repeated without harm is tried again: reads,
 * and runs, which carry an `Idempotency-Key`.
 */
export interface ServiceClient {
  readonly runs: {
    create(run: RunInput, options?: CreateRunOptions): Promise<RunAccepted>;
    /** The trace once its run has ended, however long that takes, and when the service is restarted meanwhile. */
    wait(traceId: string, options?: RequestOptions): Promise<Trace>;
  };
  readonly seats: SeatsClient;
  readonly traces: {
    get(traceId: string, options?: RequestOptions & { readonly waitSeconds?: number }): Promise<Trace>;
    list(query?: TraceListQuery, options?: RequestOptions): Promise<TraceList>;
    /** Every trace of the list, page by page. */
    all(query?: TraceListQuery, options?: RequestOptions): AsyncGenerator<TraceSummary, void>;
    /** `group_by` splits the totals, too. */
    summary(
      filters?: TraceFilters & { readonly group_by?: TotalsGroupBy },
      options?: RequestOptions,
    ): Promise<TraceTotals>;
    /** Those that are stored and those that come, to the end of the run; a lost connection is opened again. */
    events(traceId: string, options?: EventsOptions): AsyncGenerator<TraceEvent | ModelDeltaEvent, void>;
    cancel(traceId: string, options?: RequestOptions): Promise<Trace>;
    /** Repeats it in the environment of today; the trace of the replay says what differs (`replay`). */
    replay(traceId: string, options?: RequestOptions): Promise<RunAccepted>;
    delete(traceId: string, options?: RequestOptions): Promise<void>;
  };
  readonly evaluations: EvaluationsClient;
  readonly training: TrainingClient;
  readonly regrades: RegradesClient;
  readonly checks: ChecksClient;
  readonly tasksets: TasksetsClient;
  readonly blobs: {
    /** By its hash, or by the `svc-blob://sha256/<hex>` of a trace. */
    get(blob: string, options?: RequestOptions): Promise<{ readonly bytes: Uint8Array; readonly mimeType: string }>;
  };
  readonly environments: {
    list(options?: RequestOptions): Promise<EnvironmentList>;
    scenarios(envName: string, options?: RequestOptions): Promise<{ readonly scenarios: readonly ScenarioEntry[] }>;
    /** Tools that the environment lists to an agent; a scenario may offer fewer. */
    tools(envName: string, options?: RequestOptions): Promise<EnvironmentToolList>;
  };
  readonly models: ModelsClient;
  usage(
    query?: { readonly since?: string; readonly until?: string; readonly group_by?: UsageGroupBy },
    options?: RequestOptions,
  ): Promise<UsageList>;
}

/** Seconds that one request waits for the end of a run, so that proxies do not take it for dead. */
const WAIT_SECONDS = 60;

/**
 * For browsers: it knows nothing of files and variables.
 *
 * @throws TypeError for a base URL that is none. Nothing is open: there is nothing to close.
 */
export function createServiceClient(options: ServiceClientOptions = {}): ServiceClient {
  const connection = new Connection(options);
  const read = <T>(path: string, { signal }: RequestOptions = {}, more: Partial<ServiceRequest> = {}) =>
    connection.json<T>({ method: 'GET', path, isRepeatable: true, signal, ...more });
  const change = <T>(method: 'POST' | 'DELETE', path: string, { signal }: RequestOptions = {}) =>
    connection.json<T>({ method, path, isRepeatable: false, signal });

  const getTrace: ServiceClient['traces']['get'] = (traceId, { signal, waitSeconds } = {}) =>
    read(`${tracePath(traceId)}${toQuery({ wait: waitSeconds })}`, { ...(signal && { signal }) }, { waitSeconds });
  const listTraces: ServiceClient['traces']['list'] = (query, requestOptions) =>
    read(`/v1/traces${toTraceQuery(query)}`, requestOptions);

  return {
    runs: {
      create(run, { signal, waitSeconds, idempotencyKey = createKey() } = {}) {
        const prefer = waitSeconds === undefined ? {} : { prefer: `wait=${waitSeconds}` };
        return connection.json({
          method: 'POST',
          path: '/v1/agent/run',
          headers: { 'idempotency-key': idempotencyKey, ...prefer },
          body: run,
          isRepeatable: true,
          waitSeconds,
          signal,
        });
      },
      async wait(traceId, requestOptions) {
        for (let failures = 0; ; ) {
          const startedAt = Date.now();
          try {
            const trace = await getTrace(traceId, { ...requestOptions, waitSeconds: WAIT_SECONDS });
            if (trace.status !== 'queued' && trace.status !== 'running') return trace;
            failures = 0;
          } catch (error) {
            if (!isAway(error) || ++failures > MAX_FAILURES) throw error;
          }
          // One that shuts down answers at once; its successor needs a moment.
          if (Date.now() - startedAt < 1_000) await waitToRetry(failures, requestOptions?.signal);
        }
      },
    },
    seats: createSeatsClient(connection, createKey),
    traces: {
      get: getTrace,
      list: listTraces,
      all: (query = {}, requestOptions) => everyItem(query, (page) => listTraces(page, requestOptions)),
      summary: (filters, requestOptions) => read(`/v1/traces/summary${toTraceQuery(filters)}`, requestOptions),
      events: (traceId, eventsOptions) => readTraceEvents(connection, traceId, eventsOptions),
      replay: (traceId, requestOptions) => replayTrace(connection, traceId, requestOptions),
      cancel: (traceId, requestOptions) => change('POST', `${tracePath(traceId)}/cancel`, requestOptions),
      delete: (traceId, requestOptions) => change('DELETE', tracePath(traceId), requestOptions),
    },
    evaluations: createEvaluationsClient(connection),
    training: createTrainingClient(connection),
    regrades: createRegradesClient(connection),
    checks: createChecksClient(connection),
    tasksets: createTasksetsClient(connection),
    blobs: {
      get: (blob, { signal } = {}) =>
        connection.bytes({
          method: 'GET',
          path: `/v1/blobs/${encodeURIComponent(blob.replace(/^svc-blob:\/\/sha256\//, ''))}`,
          isRepeatable: true,
          signal,
        }),
    },
    environments: {
      list: (requestOptions) => read('/v1/environments', requestOptions),
      scenarios: (envName, requestOptions) =>
        read(`/v1/environments/${encodeURIComponent(envName)}/scenarios`, requestOptions),
      tools: (envName, requestOptions) => read(`/v1/environments/${encodeURIComponent(envName)}/tools`, requestOptions),
    },
    models: createModelsClient(connection),
    usage: (query = {}, requestOptions) => read(`/v1/usage${toQuery({ ...query })}`, requestOptions),
  };
}

function tracePath(traceId: string): string {
  return `/v1/traces/${encodeURIComponent(traceId)}`;
}

function toTraceQuery({ metadata = {}, ...query }: TraceListQuery = {}): string {
  const tags = Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value]);
  return toQuery({ ...query, ...Object.fromEntries(tags) });
}
