import type {
  TrainerList,
  TrainingAccepted,
  TrainingEvent,
  TrainingInput,
  TrainingJob,
  TrainingJobList,
} from '../contract/training.ts';
import { isTrainingEnd, type TrainingStatus } from '../contract/training-states.ts';
import { type Connection, createKey } from './connection.ts';
import { everyItem, type RequestOptions, toQuery } from './requests.ts';
import { type EventsOptions, readEventsUntil } from './trace-events.ts';

export interface TrainingListQuery {
  /** 1 to 100, default 50. */
  readonly limit?: number;
  /** The `next_cursor` of the page before. */
  readonly cursor?: string;
  readonly status?: TrainingStatus;
  /** The name of the model. */
  readonly name?: string;
}

/** The training jobs of a service (contract section 9). Every method rejects with an `ApiError` for what it refuses. */
export interface TrainingClient {
  /** Everything is checked before the job exists. The key is one of its own by default, so that a lost connection does not make two jobs. */
  create(
    job: TrainingInput,
    options?: RequestOptions & { readonly idempotencyKey?: string },
  ): Promise<TrainingAccepted>;
  /** With `waitSeconds` once it has ended, or after so many seconds, at most 240. */
  get(jobId: string, options?: RequestOptions & { readonly waitSeconds?: number }): Promise<TrainingJob>;
  /** Newest first. */
  list(query?: TrainingListQuery, options?: RequestOptions): Promise<TrainingJobList>;
  all(query?: TrainingListQuery, options?: RequestOptions): AsyncGenerator<TrainingJob, void>;
  /** Those that are there and those that come, to the end of the job. */
  events(jobId: string, options?: EventsOptions): AsyncGenerator<TrainingEvent, void>;
  /** Its provider is told; what that says is how it ends. */
  cancel(jobId: string, options?: RequestOptions): Promise<TrainingJob>;
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

/** Looking through very many traces for tasks that are held out takes its time. */
const CHECK_SECONDS = 120;

function isEnd(event: TrainingEvent): boolean {
  return event.type === 'status' && isTrainingEnd(event.status);
}

function pathOf(jobId: string): string {
  return `/v1/training/jobs/${encodeURIComponent(jobId)}`;
}
