import type { IncomingHttpHeaders } from 'node:http';
import { loopSlices } from '../../runtime/loop-slices.ts';
import { shuttingDown } from './errors.ts';
import type { Caller, Route, RouteReply } from './route.ts';
import { parseBody, parseQuery } from './validation.ts';

/** A request whose route and caller are known. */
export interface FoundRequest {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  /** The query with its `?`, or an empty text. */
  readonly search: string;
  readonly params: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly caller: Caller | undefined;
  readonly signal: AbortSignal;
  /** The body as JSON; undefined for an empty body. */
  readBody(): Promise<unknown>;
  /** The body as it comes. @throws ApiError request_too_large, once more has come. */
  readFile(limitBytes: number): AsyncIterable<Uint8Array>;
}

/**
 * Parses query and body with the schemas of a route, and calls its handler.
 *
 * @param closing aborted at SIGTERM. From then on everything except `GET` is refused with 503 `shutting_down`.
 * @throws ApiError when a schema refuses the input; errors of the handler.
 */
export async function answerRoute(route: Route, found: FoundRequest, closing?: AbortSignal): Promise<RouteReply> {
  const { requestId, method, path, search, params, headers, caller, signal } = found;
  const isRead = route.method === 'GET';
  if (!isRead && closing?.aborted) throw shuttingDown();
  const query = new URLSearchParams(search);
  const queryValues = route.query === undefined ? undefined : parseQuery(route.query, query);
  const json = route.request === undefined ? undefined : await found.readBody();
  const body = route.request === undefined ? undefined : parseBody(route.request, json);
  // The request may start work, and others already wait for their turn. A read is answered at once.
  if (!isRead) await loopSlices.turn();
  const file = route.fileBytes === undefined ? undefined : found.readFile(route.fileBytes);
  const given = { params, query, queryValues, headers, body, json, file };
  return route.handle({ requestId, method, path, ...given, caller, signal });
}
