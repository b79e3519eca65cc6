import type { Regrade, RegradeAccepted, RegradeList, RegradeOutcome, RegradeRequest } from '../contract/regrade.ts';
import type { RunAccepted } from '../contract/run.ts';
import type { Connection } from './connection.ts';
import { type RequestOptions, toQuery } from './requests.ts';

export interface RegradeQuery {
  readonly outcome?: RegradeOutcome;
  /** 1 to 1,000 rows, default 100. */
  readonly limit?: number;
  /** The `next_cursor` of the page before. */
  readonly cursor?: string;
}

/** Grading traces again (contract section 10). Every method rejects with an `ApiError` for what the service refuses. */
export interface RegradesClient {
  /** A job that replays a trace and grades it by the evaluation of today. */
  trace(traceId: string, options?: RegradeRequest & RequestOptions): Promise<RegradeAccepted>;
  /** The same for the attempts of an evaluation that does not run. */
  evaluation(evaluationId: string, options?: RegradeRequest & RequestOptions): Promise<RegradeAccepted>;
  /** Ends a job and the replays that run. Grades that it has given stay. */
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

export function replayTrace(
  connection: Connection,
  traceId: string,
  { signal }: RequestOptions = {},
): Promise<RunAccepted> {
  const path = `/v1/traces/${encodeURIComponent(traceId)}/replay`;
  return connection.json({ method: 'POST', path, isRepeatable: false, signal });
}
