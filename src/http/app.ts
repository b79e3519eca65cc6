import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { ApiError } from '../contract/errors.ts';
import { loopSlices } from '../runtime/loop-slices.ts';
import { type AuthenticationOptions, createAuthentication } from './api-keys.ts';
import { DEFAULT_BODY_LIMIT_BYTES, readBody } from './body.ts';
import { shuttingDown } from './errors.ts';
import { requestIdOf } from './listen.ts';
import { createOpenApiDocument } from './openapi.ts';
import { allowedHeaders, allowReading, createOriginGuard, requestedHeaders, toPreflight } from './origin-guard.ts';
import { prefersHtml } from './prefers-html.ts';
import { type AnsweredRequest, type HttpLog, logTooSlow, record, toErrorReply } from './request-log.ts';
import { type Mount, type Route, type RouteReply, UNKNOWN_PATH } from './route.ts';
import { createSecretPaths } from './secret-paths.ts';
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
  readonly logger: HttpLog;
  /** Default 4 MiB. */
  readonly bodyLimitBytes?: number;
  /** Aborted at SIGTERM: what is not a read is refused with 503 `shutting_down` from then on. */
  readonly closing?: AbortSignal;
  /** Told of every request once it is answered. */
  readonly observe?: (answered: AnsweredRequest) => void;
  /** Loads the router with the first request of a route, in place of at once. Default false. */
  readonly loadsLate?: boolean;
  /** End of the message for an unknown path. Default: where the paths are listed. */
  readonly unknownHint?: string;
  /** Body of error replies, of a server whose protocol has its own. Default: as of all routes. */
  readonly toErrorBody?: (error: ApiError) => object;
  /** The reply to a path that no route has, which its caller may know; undefined: it is unknown. Default: always. */
  readonly answerUnknown?: (url: string) => RouteReply | undefined;
}

/**
 * The shell of all HTTP servers (contract section 0), for `listen`: errors as JSON, and the checks in their order: Host
 * and Origin, key, path, method, body. It adds `GET /openapi.json`.
 */
export function createHttpApp(options: HttpAppOptions): RequestListener {
  const routes = [...options.routes, createOpenApiRoute(options)];
  const mounts = new Map((options.mounts ?? []).map((mount) => [mount.path, serveMount(mount, options)]));
  const claiming = (options.mounts ?? []).filter(({ claims }) => claims !== undefined);
  const takeSecret = createSecretPaths(options.mounts ?? []);
  let router: RequestListener | undefined;
  let loading: Promise<RequestListener> | undefined;
  const loadRouter = () => {
    loading ??= createRouter(routes, options);
    return loading;
  };
  if (options.loadsLate !== true) loadRouter().catch(() => {}); // A request is told.
  const load = (request: IncomingMessage, response: ServerResponse): void => {
    loadRouter()
      .then((loaded) => {
        router = loaded;
        if (!response.destroyed) loaded(request, response);
      })
      .catch((thrown: unknown) => refuse(response, thrown, options.logger));
  };
  return (request, response) => {
    const asked = toOriginForm(request.url ?? '/');
    const url = takeSecret?.(request, asked) ?? asked;
    request.url = url;
    const queryAt = url.indexOf('?');
    const path = queryAt === -1 ? url : url.slice(0, queryAt);
    const mounted = mounts.get(path) ?? mounts.get(claiming.find(({ claims }) => claims?.(request, path))?.path ?? '');
    const answer = mounted ?? router ?? load;
    answer(request, response);
  };
}

/** Express is loaded here: a process of an environment that nobody asks for a route starts sooner without. */
async function createRouter(routes: readonly Route[], options: HttpAppOptions): Promise<RequestListener> {
  const { default: express } = await import('express');
  const app = express();
  app.disable('x-powered-by');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  const serve = createExchange(options);
  const unknownPath = serveUnknown(serve([]), serve(routes.filter(({ path }) => path === UNKNOWN_PATH)));
  for (const path of new Set(routes.map((route) => route.path))) {
    if (path === UNKNOWN_PATH) continue;
    app.all(path, serve(routes.filter((route) => route.path === path)));
  }
  app.use(unknownPath);
  // The router fails at a path that it cannot decode, which names nothing.
  app.use((_error: unknown, request: Request, response: Response, _next: NextFunction) =>
    unknownPath(request, response),
  );
  return app;
}

/** The target of a request to a proxy (`GET http://host/path`) names the same path; the router fails at what is no address. */
function toOriginForm(target: string): string {
  if (target.startsWith('/')) return target;
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
      return toPreflight(allowedMethods(routes), allowedHeaders(request));
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const route = routes.find((candidate) => candidate.method === method);
    const caller = await authenticate(route?.access ?? strictestAccess(routes), request);
    if (routes.length === 0) {
      const reply = options.answerUnknown?.(request.originalUrl);
      if (reply !== undefined) return reply;
      throw unknownUrl(request, options.unknownHint);
    }
    if (route === undefined) throw methodNotAllowed(request, routes);
    if (method !== 'GET' && options.closing?.aborted) throw shuttingDown();
    const query = new URLSearchParams(request.url.replace(/^[^?]*/, ''));
    const queryValues = route.query === undefined ? undefined : parseQuery(route.query, query);
    const readOptions = {
      limitBytes: route.largeBodyBytes ?? limitBytes,
      acceptForms: route.access === 'page',
      acceptGzip: route.largeBodyBytes !== undefined,
    };
    const json = route.request === undefined ? undefined : await readBody(request, readOptions);
    const body = route.request === undefined ? undefined : parseBody(route.request, json);
    const params = Object.fromEntries(Object.entries(request.params).map(([name, value]) => [name, String(value)]));
    const { headers } = request;
    // It may begin work for which others wait already. A read is answered at once.
    if (method !== 'GET') await loopSlices.turn();
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
    const exchange = startExchange(request, response);
    record(request, response, routes[0]?.path, options);
    answer(routes, exchange)
      .catch((thrown: unknown) =>
        exchange.signal.aborted ? {} : toErrorReply(thrown, exchange.requestId, logger, options.toErrorBody),
      )
      .then((reply) => sendReply(response, reply, () => logTooSlow(request, response, logger)))
      .catch((error: unknown) => {
        logger.error({ requestId: exchange.requestId, err: error }, 'The reply could not be sent');
        response.destroy();
      });
  };
}

/** Answers the requests of a mount. A promise or an object more would be felt by every tool call. */
function serveMount(mount: Mount, options: HttpAppOptions): RequestListener {
  const guard = createOriginGuard(options.allowedHosts);
  const { findKey } = createAuthentication(options);
  const methods = [...mount.methods, 'OPTIONS'].join(', ');
  const isRecorded = options.logger.info !== undefined || options.observe !== undefined;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    guard.check(request.headers);
    if (request.headers.origin !== undefined) allowReading(request, response);
    if (request.method === 'OPTIONS') return sendReply(response, toPreflight(methods, requestedHeaders(request)));
    const found = mount.hasOwnSecrets ? undefined : findKey?.(request.headers);
    const caller = found instanceof Promise ? await found : found;
    if (options.closing?.aborted && request.method !== 'DELETE') throw shuttingDown();
    return mount.handle(request, response, caller);
  };
  return (request, response) => {
    if (isRecorded) record(request, response, mount.path, options);
    answer(request, response)
      .catch((thrown: unknown) => {
        if (mount.refuse === undefined) refuse(response, thrown, options.logger);
        else mount.refuse(request, response, thrown);
      })
      .catch(() => response.destroy());
  };
}

function refuse(response: ServerResponse, thrown: unknown, logger: HttpLog): void {
  sendReply(response, toErrorReply(thrown, requestIdOf(response), logger));
}

interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** A signal that is aborted when the client goes away. */
function startExchange(request: Request, response: Response): Exchange {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(new Error('The client went away'));
  });
  return { request, response, requestId: requestIdOf(response), signal: gone.signal };
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
    mounts: options.mounts ?? [],
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

function unknownUrl({ method, path }: Request, hint = 'GET /openapi.json lists what exists.'): ApiError {
  return new ApiError('unknown_url', `Unknown URL: ${method} ${path.slice(0, 200)}. ${hint}`);
}

function methodNotAllowed(request: Request, routes: readonly Route[]): ApiError {
  const allow = allowedMethods(routes);
  return new ApiError('method_not_allowed', `${request.path} does not take ${request.method}; it takes ${allow}.`, {
    headers: { allow },
  });
}
