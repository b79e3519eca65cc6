import { ApiError } from '../contract/errors.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import { isEnded } from '../contract/service/ended.ts';
import type { ModelDeltaEvent, TraceEvent } from '../contract/service/event.ts';
import type { ImportedTraces, ImportQuery } from '../contract/service/import.ts';
import type { Outcome } from '../contract/service/outcome.ts';
import type { GradesQuery } from '../contract/service/replay.ts';
import type {
  EnvironmentList,
  EnvironmentToolList,
  RunAccepted,
  RunInput,
  RunStatus,
} from '../contract/service/run.ts';
import type { TotalsGroupBy, TraceTotals, UsageGroupBy, UsageList } from '../contract/service/totals.ts';
import type { Origin, Trace, TraceList, TraceSummary } from '../contract/service/trace.ts';
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
  createJudgesClient,
  createTasksetsClient,
  type EvaluationsClient,
  type JudgesClient,
  type TasksetsClient,
} from './evaluations-client.ts';
import { createModelsClient, type ModelsClient } from './models-client.ts';
import { createRegradesClient, type RegradesClient, type ReplayOptions, replayTrace } from './regrades.ts';
import { everyItem, type RequestOptions, toQuery } from './requests.ts';
import { createSeatsClient, type SeatsClient } from './seats.ts';
import { type EventsOptions, readTraceEvents, readWork } from './trace-events.ts';
import {
  createDatasetsClient,
  createTrainingClient,
  type DatasetsClient,
  type TrainingClient,
} from './training-client.ts';

/** In browsers, `proctor/client` is this file. */
export { ApiError } from '../contract/errors.ts';
export type { CheckListQuery, CheckQuery, ChecksClient } from './checks.ts';
export type { Fetch, ServiceClientOptions } from './connection.ts';
export type {
  AttemptListQuery,
  CompareQuery,
  CreateEvaluationOptions,
  EvaluationListQuery,
  EvaluationsClient,
  GradesOption,
  JudgesClient,
  TaskListQuery,
  TasksetsClient,
} from './evaluations-client.ts';
export type { ModelsClient, RegisteredModelsClient } from './models-client.ts';
export type { RegradeQuery, RegradesClient, ReplayOptions } from './regrades.ts';
export type { RequestOptions } from './requests.ts';
export type { SeatsClient } from './seats.ts';
export type { EventsOptions } from './trace-events.ts';
export type { DatasetsClient, TrainingClient, TrainingListQuery } from './training-client.ts';

export interface TraceFilters {
  readonly env_name?: string;
  readonly scenario_name?: string;
  readonly model?: string;
  readonly status?: RunStatus;
  readonly origin?: Origin;
  readonly evaluation_id?: string;
  readonly task_id?: string;
  /** Attempt number from 1. */
  readonly attempt_index?: number;
  readonly outcome?: Outcome;
  /** Only replays and forks of this trace. */
  readonly parent?: string;
  /** Rewards of the runs (default), or of the newest grades. */
  readonly grades?: GradesQuery;
  readonly min_reward?: number;
  readonly max_reward?: number;
  /** Start of the time range in ISO 8601. Both ends are inclusive. */
  readonly since?: string;
  readonly until?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface TraceListQuery extends TraceFilters {
  /** Sort field, descending. Default: newest first. */
  readonly sort?: 'created_at' | 'reward' | 'duration' | 'tokens';
  /** 1 to 100, default 50. */
  readonly limit?: number;
  /** The `next_cursor` of the previous page. */
  readonly cursor?: string;
}

export interface CreateRunOptions extends RequestOptions {
  /** Seconds to wait for the end of the run, at most 240. If it ends in time, the reply has `reward` and `answer`. */
  readonly waitSeconds?: number;
  /** Random by default, so that a retry after a lost connection does not start a second run. */
  readonly idempotencyKey?: string;
}

/**
 * A typed client of a run service, for Node.js and browsers. Methods reject with an `ApiError` for a refused request,
 * and with the reason of an aborted signal. Requests that are safe to repeat are retried: reads, and runs, which have
 * an `Idempotency-Key`.
 */
export interface ServiceClient {
  readonly runs: {
    create(run: RunInput, options?: CreateRunOptions): Promise<RunAccepted>;
    /** Waits for the end of a run, without a limit and across restarts of the service. */
    wait(traceId: string, options?: RequestOptions): Promise<Trace>;
  };
  readonly seats: SeatsClient;
  readonly traces: {
    get(traceId: string, options?: RequestOptions & { readonly waitSeconds?: number }): Promise<Trace>;
    list(query?: TraceListQuery, options?: RequestOptions): Promise<TraceList>;
    /** Every trace of the list, page by page. */
    all(query?: TraceListQuery, options?: RequestOptions): AsyncGenerator<TraceSummary, void>;
    /** Totals of traces. `group_by` splits them. */
    summary(
      filters?: TraceFilters & { readonly group_by?: TotalsGroupBy },
      options?: RequestOptions,
    ): Promise<TraceTotals>;
    /** Yields stored and new events until the run ends. A lost connection is reopened. */
    events(traceId: string, options?: EventsOptions): AsyncGenerator<TraceEvent | ModelDeltaEvent, void>;
    cancel(traceId: string, options?: RequestOptions): Promise<Trace>;
    /** Repeats a run in the current environment. The trace of the replay lists the differences (`replay`). */
    replay(traceId: string, options?: ReplayOptions): Promise<RunAccepted>;
    delete(traceId: string, options?: RequestOptions): Promise<void>;
    /** Stores the traces of a file of others: all of them, or none. A stream is sent as it comes. */
    import(file: BodyInit, query?: ImportQuery, options?: RequestOptions): Promise<ImportedTraces>;
  };
  readonly evaluations: EvaluationsClient;
  readonly datasets: DatasetsClient;
  readonly training: TrainingClient;
  readonly regrades: RegradesClient;
  readonly checks: ChecksClient;
  readonly judges: JudgesClient;
  readonly tasksets: TasksetsClient;
  readonly blobs: {
    /** Reads binary content by its hash, or by the `svc-blob://sha256/<hex>` of a trace. */
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

/** Seconds that one request waits for the end of a run, short enough for proxies. */
const WAIT_SECONDS = 60;

/**
 * Client for browsers: it reads no files and no environment variables.
 *
 * @throws TypeError for an invalid base URL. The client holds nothing open and needs no closing.
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
            if (isEnded(trace.status)) return trace;
            failures = 0;
          } catch (error) {
            if (!isAway(error) || ++failures > MAX_FAILURES) throw error;
          }
          // A service that shuts down answers at once; the next one needs a moment to start.
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
      async import(file, query = {}, { signal } = {}) {
        const request = { path: `/v1/imports${toQuery({ ...query })}`, body: undefined, file };
        for await (const event of readWork<ImportedTraces>(connection, request, () => true, signal)) return event;
        throw new ApiError('connection_failed', 'The service did not say what it has imported.');
      },
    },
    evaluations: createEvaluationsClient(connection),
    datasets: createDatasetsClient(connection),
    training: createTrainingClient(connection),
    regrades: createRegradesClient(connection),
    checks: createChecksClient(connection),
    judges: createJudgesClient(connection),
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
