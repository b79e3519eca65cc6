import type { DatasetBuildInput, DatasetPart } from '../contract/service/dataset.ts';
import { isEnded } from '../contract/service/ended.ts';
import type {
  TrainerList,
  TrainingAccepted,
  TrainingEvent,
  TrainingInput,
  TrainingJob,
  TrainingJobDetail,
  TrainingJobList,
} from '../contract/service/training.ts';
import type { TrainingStatus } from '../contract/service/training-states.ts';
import { type Connection, createKey } from './connection.ts';
import { everyItem, type RequestOptions, toQuery } from './requests.ts';
import { type EventsOptions, readEventsUntil, readWork } from './trace-events.ts';

export interface TrainingListQuery {
  /** 1 to 100, default 50. */
  readonly limit?: number;
  /** The `next_cursor` of the previous page. */
  readonly cursor?: string;
  readonly status?: TrainingStatus;
  /** Name of the model. */
  readonly name?: string;
}

/** The training jobs of a service (contract section 9). Every method rejects with an `ApiError` for what it refuses. */
export interface TrainingClient {
  /**
   * Creates a job after all checks. The idempotency key is random by default, so that a retry after a lost
   * connection does not create a second job.
   */
  create(
    job: TrainingInput,
    options?: RequestOptions & { readonly idempotencyKey?: string },
  ): Promise<TrainingAccepted>;
  /** Reads a job. With `waitSeconds` it waits for the end of the job, at most 240 s. */
  get(jobId: string, options?: RequestOptions & { readonly waitSeconds?: number }): Promise<TrainingJobDetail>;
  /** Newest first. */
  list(query?: TrainingListQuery, options?: RequestOptions): Promise<TrainingJobList>;
  all(query?: TrainingListQuery, options?: RequestOptions): AsyncGenerator<TrainingJob, void>;
  /** Yields stored and new events until the job ends. */
  events(jobId: string, options?: EventsOptions): AsyncGenerator<TrainingEvent, void>;
  /** Asks the provider to cancel. The provider's answer decides how the job ends. */
  cancel(jobId: string, options?: RequestOptions): Promise<TrainingJobDetail>;
  /** The trainers of the service. */
  providers(options?: RequestOptions): Promise<TrainerList>;
}

export function createTrainingClient(connection: Connection): TrainingClient {
  const read = <T>(path: string, { signal }: RequestOptions = {}, waitSeconds?: number) =>
    connection.json<T>({ method: 'GET', path, isRepeatable: true, waitSeconds, signal });
  const list: TrainingClient['list'] = (query, options) => read(`/v1/training/jobs${toQuery({ ...query })}`, options);
  return {
    create: (job, { signal, idempotencyKey = createKey() } = {}) =>
      connection.json({
        method: 'POST',
        path: '/v1/training/jobs',
        headers: { 'idempotency-key': idempotencyKey },
        body: job,
        isRepeatable: true,
        waitSeconds: CHECK_SECONDS,
        signal,
      }),
    get: (id, { signal, waitSeconds } = {}) =>
      read(`${pathOf(id)}${toQuery({ wait: waitSeconds })}`, { ...(signal && { signal }) }, waitSeconds),
    list,
    all: (query = {}, options) => everyItem(query, (page) => list(page, options)),
    events: (id, options) => readEventsUntil<TrainingEvent>(connection, `${pathOf(id)}/events`, isEnd, options),
    cancel: (id, { signal } = {}) =>
      connection.json({ method: 'POST', path: `${pathOf(id)}/cancel`, isRepeatable: false, signal }),
    providers: (options) => read('/v1/training/providers', options),
  };
}

/** Datasets of the traces of a service (contract section 9). Rejects with an `ApiError` for what the service refuses. */
export interface DatasetsClient {
  /**
   * Builds a dataset at the service. Yields progress, pieces of its files, and last its manifest. The service stores
   * nothing.
   */
  build(dataset: DatasetBuildInput, options?: RequestOptions): AsyncGenerator<DatasetPart, void>;
}

export function createDatasetsClient(connection: Connection): DatasetsClient {
  return {
    build: (dataset, { signal } = {}) =>
      readWork<DatasetPart>(
        connection,
        { path: '/v1/datasets', body: dataset },
        ({ type }) => type === 'dataset',
        signal,
      ),
  };
}

/** Seconds for a check, since searching very many traces for held-out tasks is slow. */
const CHECK_SECONDS = 120;

function isEnd(event: TrainingEvent): boolean {
  return event.type === 'status' && isEnded(event.status);
}

function pathOf(jobId: string): string {
  return `/v1/training/jobs/${encodeURIComponent(jobId)}`;
}
