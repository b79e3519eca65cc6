import type {
  Regrade,
  RegradeAccepted,
  RegradeList,
  RegradeOutcome,
  RegradeRequest,
} from '../contract/service/regrade.ts';
import type { RunAccepted } from '../contract/service/run.ts';
import type { Connection } from './connection.ts';
import { type RequestOptions, toQuery } from './requests.ts';

export interface RegradeQuery {
  readonly outcome?: RegradeOutcome;
  /** 1 to 1,000 rows, default 100. */
  readonly limit?: number;
  /** The `next_cursor` of the previous page. */
  readonly cursor?: string;
}

/** Grading traces again (contract section 10). Every method rejects with an `ApiError` for what the service refuses. */
export interface RegradesClient {
  /** Starts a job that replays a trace and grades it with the current evaluation code. */
  trace(traceId: string, options?: RegradeRequest & RequestOptions): Promise<RegradeAccepted>;
  /** Starts such a job for the attempts of an evaluation that is not running. */
  evaluation(evaluationId: string, options?: RegradeRequest & RequestOptions): Promise<RegradeAccepted>;
  /** Cancels a job and its running replays. Grades that it has given stay. */
  cancel(jobId: string, options?: RequestOptions): Promise<Regrade>;
  get(jobId: string, query?: RegradeQuery, options?: RequestOptions): Promise<Regrade>;
  /** Jobs of an evaluation, newest first, at most 20. */
  list(evaluationId: string, options?: RequestOptions): Promise<RegradeList>;
}

export function createRegradesClient(connection: Connection): RegradesClient {
  const read = <T>(path: string, { signal }: RequestOptions = {}) =>
    connection.json<T>({ method: 'GET', path, isRepeatable: true, signal });
  const begin = (path: string, { signal, ...body }: RegradeRequest & RequestOptions = {}) =>
    connection.json<RegradeAccepted>({ method: 'POST', path, body, isRepeatable: false, signal });
  return {
    trace: (id, options) => begin(`/v1/traces/${encodeURIComponent(id)}/regrade`, options),
    evaluation: (id, options) => begin(`/v1/evaluations/${encodeURIComponent(id)}/regrade`, options),
    cancel: (id, { signal } = {}) =>
      connection.json({
        method: 'POST',
        path: `/v1/regrades/${encodeURIComponent(id)}/cancel`,
        isRepeatable: false,
        signal,
      }),
    get: (id, query, options) => read(`/v1/regrades/${encodeURIComponent(id)}${toQuery({ ...query })}`, options),
    list: (id, options) => read(`/v1/evaluations/${encodeURIComponent(id)}/regrades`, options),
  };
}

export interface ReplayOptions extends RequestOptions {
  /** Environment for the replay, if it differs from the trace's. */
  readonly environment?: string | undefined;
}

export function replayTrace(
  connection: Connection,
  traceId: string,
  { signal, environment }: ReplayOptions = {},
): Promise<RunAccepted> {
  const path = `/v1/traces/${encodeURIComponent(traceId)}/replay`;
  const body = environment === undefined ? undefined : { env_name: environment };
  return connection.json({ method: 'POST', path, body, isRepeatable: false, signal });
}
