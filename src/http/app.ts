import type { RequestListener } from 'node:http';
import express, { type Request, type Response } from 'express';
import type { Logger } from 'pino';
import { ApiError } from '../contract/errors.ts';
import { type AuthenticationOptions, createAuthentication } from './api-keys.ts';
import { DEFAULT_BODY_LIMIT_BYTES, readBody } from './body.ts';
import { allowReading, toPreflight } from './cross-origin.ts';
import { toApiError } from './errors.ts';
import { createOpenApiDocument } from './openapi.ts';
import { createOriginGuard } from './origin-guard.ts';
import { prefersHtml } from './prefers-html.ts';
import { createRequestId, REQUEST_ID_HEADER, TRACE_ID_HEADER } from './request-id.ts';
import { type Mount, type Route, type RouteReply, UNKNOWN_PATH } from './route.ts';
import { sendReply } from './send-reply.ts';
import { parseBody, parseQuery } from './validation.ts';

export interface HttpAppOptions extends AuthenticationOptions {
  readonly title: string;
  readonly version: string;
  readonly routes: readonly Route[];
  /** Handlers of other protocols, each at its path: they get every method after Host, Origin and key are checked. */
  readonly mounts?: readonly Mount[];
  /** Names beside the loopback ones that Host and Origin may have (`parseAllowedHosts`). */
  readonly allowedHosts?: readonly string[];
  readonly logger: Logger;
  /** Default 4 MiB. */
  readonly bodyLimitBytes?: number;
  /** True from SIGTERM on: what is not a read is refused with 503 `shutting_down`. */
  readonly isShuttingDown?: () => boolean;
  /** Told of every request once it is answered. */
  readonly observe?: (answered: AnsweredRequest) => void;
}

export interface AnsweredRequest {
  readonly method: string;
  /** The path of the route, `/v1/traces/:trace_id`; undefined for an unknown one. */
  readonly route: string | undefined;
  /** Undefined where the client went away before there was an answer. */
  readonly status: number | undefined;
  readonly durationMs: number;
}

/**
 * The shell of all HTTP servers (contract section 0): request ids, errors as JSON, and the checks in their order: Host
 * and Origin, key, path, method, body. It adds `GET /openapi.json`.
 */
export function createHttpApp(options: HttpAppOptions): RequestListener {
  const routes = [...options.routes, createOpenApiRoute(options)];
  const app = express();
  app.disable('x-powered-by');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  const serve = createExchange(options);
  const unknownPath = serveUnknown(serve([]), serve(routes.filter(({ path }) => path === UNKNOWN_PATH)));
  for (const mount of options.mounts ?? []) app.all(mount.path, serveMount(mount, options));
  app.use((request, response, next) => {
    // A path that cannot be decoded names nothing; the router would answer for it before any check.
    if (isDecodable(request.path)) next();
    else unknownPath(request, response);
  });
  for (const path of new Set(routes.map((route) => route.path))) {
    if (path === UNKNOWN_PATH) continue;
    app.all(path, serve(routes.filter((route) => route.path === path)));
  }
  app.use(unknownPath);
  return (request, response) => {
    request.url = toOriginForm(request.url ?? '/');
    app(request, response);
  };
}

/** The target of a request to a proxy (`GET http://host/path`) names the same path; the router fails at what is no address. */
function toOriginForm(target: string): string {
  const rest = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(.*)$/i.exec(target)?.[1];
  if (rest === undefined) return target;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Somebody who looks with a browser gets a page, where the server has one. */
function serveUnknown(
  serve: (request: Request, response: Response) => void,
  serveBrowser: (request: Request, response: Response) => void,
) {
  return (request: Request, response: Response) => {
    const isReading = request.method === 'GET' || request.method === 'HEAD';
    return isReading && prefersHtml(request.headers.accept)
      ? serveBrowser(request, response)
      : serve(request, response);
  };
}

/** Answers the requests of one path, whose routes these are (none: the path is unknown). */
function createExchange(options: HttpAppOptions) {
  const { logger } = options;
  const guard = createOriginGuard(options.allowedHosts);
  const { authenticate } = createAuthentication(options);
  const limitBytes = options.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES;

  async function answer(routes: readonly Route[], exchange: Exchange): Promise<RouteReply> {
    const { request, response, requestId, signal } = exchange;
    if (!UNGUARDED_PATHS.has(request.path)) {
      guard.check(request.headers);
      allowReading(request, response);
    }
    if (request.method === 'OPTIONS' && routes.length > 0)
      return toPreflight(request, { methods: allowedMethods(routes) });
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const route = routes.find((candidate) => candidate.method === method);
    const caller = await authenticate(route?.access ?? strictestAccess(routes), request);
    if (routes.length === 0) throw unknownUrl(request);
    if (route === undefined) throw methodNotAllowed(request, routes);
    if (method !== 'GET' && options.isShuttingDown?.()) throw shuttingDown();
    const query = new URLSearchParams(request.url.replace(/^[^?]*/, ''));
    const queryValues = route.query === undefined ? undefined : parseQuery(route.query, query);
    const readOptions = { limitBytes, acceptForms: route.access === 'page' };
    const json = route.request === undefined ? undefined : await readBody(request, readOptions);
    const body = route.request === undefined ? undefined : parseBody(route.request, json);
    const params = Object.fromEntries(Object.entries(request.params).map(([name, value]) => [name, String(value)]));
    const { headers } = request;
    return route.handle({
      requestId,
      method: request.method,
      path: request.path,
      params,
      query,
      queryValues,
      headers,
      body,
      json,
      caller,
      signal,
    });
  }

  return (routes: readonly Route[]) => (request: Request, response: Response) => {
    const exchange = startExchange(request, response, { ...options, route: routes[0]?.path });
    answer(routes, exchange)
      .catch((thrown: unknown) => toErrorReply(thrown, exchange, logger))
      .then((reply) => sendReply(response, reply, () => logTooSlow(exchange, logger)))
      .catch((error: unknown) => {
        logger.error({ requestId: exchange.requestId, err: error }, 'The reply could not be sent');
        response.destroy();
      });
  };
}

/** Answers the requests of a mount: what it does not get as far as is refused in our own shape. */
function serveMount(mount: Mount, options: HttpAppOptions) {
  const { logger } = options;
  const guard = createOriginGuard(options.allowedHosts);
  const { authenticate } = createAuthentication(options);
  return (request: Request, response: Response) => {
    const exchange = startExchange(request, response, { ...options, route: mount.path });
    const answer = async () => {
      guard.check(request.headers);
      allowReading(request, response);
      if (request.method === 'OPTIONS') {
        sendReply(
          response,
          toPreflight(request, { methods: [...mount.methods, 'OPTIONS'].join(', '), headers: mount.headers }),
        );
        return;
      }
      const caller = await authenticate('key', request);
      if (options.isShuttingDown?.() && request.method !== 'DELETE') throw shuttingDown();
      await mount.handle(request, response, caller);
    };
    answer()
      .catch((thrown: unknown) => sendReply(response, toErrorReply(thrown, exchange, logger)))
      .catch(() => response.destroy());
  };
}

interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** Gives the request its id, its line in the log, and a signal that is aborted when the client goes away. */
function startExchange(
  request: Request,
  response: Response,
  { logger, observe, route }: Pick<HttpAppOptions, 'logger' | 'observe'> & { readonly route: string | undefined },
): Exchange {
  const requestId = createRequestId();
  const startedAt = performance.now();
  const gone = new AbortController();
  response.setHeader(REQUEST_ID_HEADER, requestId);
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(new Error('The client went away'));
    const durationMs = Math.round(performance.now() - startedAt);
    const { method, path } = request; // Never the query: it may hold a sign-in token.
    const line = { requestId, ...traceOf(path, response), method, path, status: response.statusCode, durationMs };
    logger.info(line, 'request');
    observe?.({ method, route, status: response.headersSent ? response.statusCode : undefined, durationMs });
  });
  return { request, response, requestId, signal: gone.signal };
}

/** The trace of a request: the one that its reply or its path names. */
function traceOf(path: string, response: Response): { readonly traceId?: string } {
  return toTraceId(response.getHeader(TRACE_ID_HEADER) ?? /^\/(?:v1\/)?traces\/([0-9a-f]{32})(?:\/|$)/.exec(path)?.[1]);
}

function toTraceId(traceId: unknown): { readonly traceId?: string } {
  return typeof traceId === 'string' ? { traceId } : {};
}

function toErrorReply(thrown: unknown, { requestId, signal }: Exchange, logger: Logger): RouteReply {
  if (signal.aborted) return {};
  const error = toApiError(thrown, requestId);
  // A 503 is an answer, not a fault: the line of the request says it.
  if (error.status >= 500 && error.status !== 503)
    logger.error(
      { requestId, ...toTraceId(error.headers?.[TRACE_ID_HEADER]), code: error.code, err: error.cause ?? error },
      error.message,
    );
  const retry: Record<string, string> = error.status === 409 ? { 'x-should-retry': 'false' } : {};
  return { status: error.status, headers: { ...retry, ...error.headers }, body: error.toBody() };
}

function logTooSlow({ requestId, request, response }: Exchange, logger: Logger): void {
  logger.warn(
    { requestId, ...traceOf(request.path, response), code: 'client_too_slow' },
    'The client did not read its reply: the connection was closed',
  );
}

function createOpenApiRoute(options: HttpAppOptions): Route {
  const route: Route = {
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document',
    access: 'loopback',
    handle: () => ({ body: document }),
  };
  const document = createOpenApiDocument([...options.routes, route], {
    title: options.title,
    version: options.version,
    hasKeys: options.verifyKey !== undefined,
    hasBrowsers: options.verifyBrowser !== undefined,
  });
  return route;
}

/** Paths for load balancers, under any Host. */
const UNGUARDED_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

const ACCESS_BY_STRICTNESS = ['key', 'browser', 'key-or-browser', 'loopback', 'page', 'public'] as const;

/** The key comes before path and method, so that a stranger cannot find out what exists. */
function strictestAccess(routes: readonly Route[]): Route['access'] {
  return ACCESS_BY_STRICTNESS.find((access) => routes.some((route) => route.access === access)) ?? 'key-or-browser';
}

function allowedMethods(routes: readonly Route[]): string {
  const methods = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...new Set([...methods, 'OPTIONS'])].join(', ');
}

function unknownUrl(request: Request): ApiError {
  return new ApiError(
    'unknown_url',
    `Unknown URL: ${request.method} ${request.path.slice(0, 200)}. GET /openapi.json lists what exists.`,
  );
}

function methodNotAllowed(request: Request, routes: readonly Route[]): ApiError {
  const allow = allowedMethods(routes);
  return new ApiError('method_not_allowed', `${request.path} does not take ${request.method}; it takes ${allow}.`, {
    headers: { allow },
  });
}

function shuttingDown(): ApiError {
  return new ApiError('shutting_down', 'The server is shutting down and takes no new work; try again in a moment.', {
    headers: { 'retry-after': '5' },
  });
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
