import type {
  CheckEvent,
  CheckList,
  CheckRequest,
  CheckSummary,
  FindingLevel,
  FindingName,
  StoredCheck,
} from '../contract/service/check.ts';
import type { Connection } from './connection.ts';
import { everyItem, type RequestOptions, toQuery } from './requests.ts';
import { readWork } from './trace-events.ts';

export interface CheckListQuery {
  /** Only reports with an environment of this name. */
  readonly env_name?: string;
  /** 1 to 100, default 50. */
  readonly limit?: number;
  /** The `next_cursor` of the previous page. */
  readonly cursor?: string;
}

export interface CheckQuery {
  /** Only environments and findings of this name. */
  readonly env_name?: string;
  readonly level?: FindingLevel;
  readonly finding?: FindingName;
  /** 1 to 1,000 findings, default 1,000. */
  readonly limit?: number;
  /** The `next_cursor` of the previous page. */
  readonly cursor?: string;
}

/** Reports of `proctor check` (contract section 10). Every method rejects with an `ApiError` for what the service refuses. */
export interface ChecksClient {
  /**
   * Checks environments of the service. Yields progress, each finding, and last the report, which the service stores.
   * The check ends when the reader stops.
   */
  run(request: CheckRequest, options?: RequestOptions): AsyncGenerator<CheckEvent, void>;
  /** Newest first, without scenarios and findings. */
  list(query?: CheckListQuery, options?: RequestOptions): Promise<CheckList>;
  /** Every report of the list, page by page. */
  all(query?: CheckListQuery, options?: RequestOptions): AsyncGenerator<CheckSummary, void>;
  /** A report with a page of its findings: errors of all environments first, then warnings, then notes. */
  get(checkId: string, query?: CheckQuery, options?: RequestOptions): Promise<StoredCheck>;
  /** Deletes a report. Its traces stay. */
  delete(checkId: string, options?: RequestOptions): Promise<void>;
}

export function createChecksClient(connection: Connection): ChecksClient {
  const read = <T>(path: string, { signal }: RequestOptions = {}) =>
    connection.json<T>({ method: 'GET', path, isRepeatable: true, signal });
  const list: ChecksClient['list'] = (query, options) => read(`/v1/checks${toQuery({ ...query })}`, options);
  return {
    run: (body, { signal } = {}) =>
      readWork<CheckEvent>(connection, { path: '/v1/checks', body }, ({ type }) => type === 'report', signal),
    list,
    all: (query = {}, options) => everyItem(query, (page) => list(page, options)),
    get: (id, query, options) => read(`${pathOf(id)}${toQuery({ ...query })}`, options),
    delete: (id, { signal } = {}) =>
      connection.json({ method: 'DELETE', path: pathOf(id), isRepeatable: false, signal }),
  };
}

function pathOf(checkId: string): string {
  return `/v1/checks/${encodeURIComponent(checkId)}`;
}
