import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiError } from '../../contract/errors.ts';
import { toApiError } from './api/errors.ts';
import { type RouteProtocol, type RouteReply, TRACE_ID_HEADER } from './api/route.ts';
import { requestIdOf } from './listen.ts';

/** The log of a server, such as a pino logger. Without `info`, requests are not logged. */
export interface HttpLog {
  info?(line: object, message: string): void;
  warn(line: object, message: string): void;
  error(line: Readonly<Record<string, unknown>>, message: string): void;
}

export interface AnsweredRequest {
  readonly method: string;
  /** The path of the route, such as `/v1/traces/:trace_id`; undefined for an unknown one. */
  readonly route: string | undefined;
  /** Undefined when the client went away before the answer. */
  readonly status: number | undefined;
  readonly durationMs: number;
}

/** Logs a request once it is answered. */
export function record(
  request: IncomingMessage,
  response: ServerResponse,
  route: string | undefined,
  { logger, observe }: { readonly logger: HttpLog; readonly observe?: (answered: AnsweredRequest) => void },
): void {
  const startedAt = performance.now();
  response.once('close', () => {
    const durationMs = Math.round(performance.now() - startedAt);
    const { method = '' } = request;
    const path = pathOf(request);
    const requestId = requestIdOf(response);
    const line = { requestId, ...traceOf(path, response), method, path, status: response.statusCode, durationMs };
    logger.info?.(line, 'request');
    observe?.({ method, route, status: response.headersSent ? response.statusCode : undefined, durationMs });
  });
}

/** The trace of a request, from its reply or its path. */
function traceOf(path: string, response: ServerResponse): { readonly traceId?: string } {
  return toTraceId(response.getHeader(TRACE_ID_HEADER) ?? /^\/(?:v1\/)?traces\/([0-9a-f]{32})(?:\/|$)/.exec(path)?.[1]);
}

function toTraceId(traceId: unknown): { readonly traceId?: string } {
  return typeof traceId === 'string' ? { traceId } : {};
}

/** The reply for a thrown error. Internal errors, and those of upstream services, are logged. */
export function toErrorReply(
  thrown: unknown,
  requestId: string,
  logger: HttpLog,
  toBody = (error: ApiError): object => error.toBody(),
  protocol?: RouteProtocol,
): RouteReply {
  const error = toApiError(thrown, requestId);
  // A 503 is a normal answer. The request's own log line shows it.
  if (error.status >= 500 && error.status !== 503)
    logger.error(
      { requestId, ...toTraceId(error.headers?.[TRACE_ID_HEADER]), code: error.code, err: error.cause ?? error },
      error.message,
    );
  const retry: Record<string, string> = error.status === 409 ? { 'x-should-retry': 'false' } : {};
  const reply = protocol?.toErrorReply(error) ?? { status: error.status, body: toBody(error) };
  return { ...reply, headers: { ...retry, ...error.headers } };
}

/** Logs that a connection was closed because its client did not read. */
export function logTooSlow(request: IncomingMessage, response: ServerResponse, logger: HttpLog): void {
  logger.warn(
    { requestId: requestIdOf(response), ...traceOf(pathOf(request), response), code: 'client_too_slow' },
    'The client did not read its reply: the connection was closed',
  );
}

/** The path without its query, which may hold a sign-in token. */
function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?')[0] ?? '';
}
