import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { ApiError } from '../../contract/errors.ts';
import { once } from '../runtime/once.ts';
import { answerRoute } from './api/answer-request.ts';
import { type AuthenticationOptions, createAuthentication } from './api/api-keys.ts';
import { DEFAULT_BODY_LIMIT_BYTES, readBody, readPieces } from './api/body.ts';
import { shuttingDown } from './api/errors.ts';
import { createOpenApiDocument } from './api/openapi.ts';
import { type Mount, type Route, type RouteProtocol, type RouteReply, UNKNOWN_PATH } from './api/route.ts';
import { groupOf, RouteTable } from './api/route-table.ts';
import { requestIdOf } from './listen.ts';
import { allowedHeaders, allowReading, createOriginGuard, requestedHeaders, toPreflight } from './origin-guard.ts';
import { prefersHtml } from './reply/prefers-html.ts';
import { sendReply } from './reply/send-reply.ts';
import { type AnsweredRequest, type HttpLog, logTooSlow, record, toErrorReply } from './request-log.ts';
import { createSecretPaths } from './secret-paths.ts';

export interface HttpAppOptions extends AuthenticationOptions {
  readonly title: string;
  readonly version: string;
  readonly routes: readonly Route[] | RouteTable;
  /** Handlers of other protocols, each at its path. They get every method, after the checks of Host, Origin and key. */
  readonly mounts?: readonly Mount[];
  /** Host names beside the loopback ones that Host and Origin may have (`parseAllowedHosts`). */
  readonly allowedHosts?: readonly string[];
  readonly logger: HttpLog;
  /** Default 4 MiB. */
  readonly bodyLimitBytes?: number;
  /** Aborted at SIGTERM. From then on everything except `GET` is refused with 503 `shutting_down`. */
  readonly closing?: AbortSignal;
  /** Called for every request once it is answered. */
  readonly observe?: (answered: AnsweredRequest) => void;
  /** True loads the router with the first request instead of at once. Default false. */
  readonly loadsLate?: boolean;
  /** End of the message for an unknown path. Default: where the paths are listed. */
  readonly unknownHint?: string;
  /** Body of error replies for a server whose protocol has its own. Default: that of all routes. */
  readonly toErrorBody?: (error: ApiError) => object;
  /** Reply for an unknown path; undefined sends the usual error. Default: always the usual error. */
  readonly answerUnknown?: (url: string) => RouteReply | undefined;
}

/**
 * The shell of all HTTP servers (contract section 0), for `listen`. It answers errors as JSON, and checks Host and
 * Origin, key, path, method and body, in this order. It adds `GET /openapi.json`.
 */
export function createHttpApp(options: HttpAppOptions): RequestListener {
  const given = options.routes instanceof RouteTable ? options.routes : new RouteTable([groupOf(...options.routes)]);
  const table = new RouteTable([...given.groups, groupOf(createOpenApiRoute(options, given))]);
  const mounts = new Map((options.mounts ?? []).map((mount) => [mount.path, serveMount(mount, options)]));
  const claiming = (options.mounts ?? []).filter(({ claims }) => claims !== undefined);
  const takeSecret = createSecretPaths(options.mounts ?? []);
  let router: RequestListener | undefined;
  const loading = once(() => createRouter(table, options));
  if (options.loadsLate !== true) loading.get().catch(() => {}); // The next request reports the error.
  const load = (request: IncomingMessage, response: ServerResponse): void => {
    loading
      .get()
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

/** Express is loaded lazily, so that an environment process whose routes are not used starts faster. */
async function createRouter(table: RouteTable, options: HttpAppOptions): Promise<RequestListener> {
  const { default: express } = await import('express');
  const app = express();
  app.disable('x-powered-by');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  const serve = createExchange(options);
  const unknownPath = serveUnknown(
    serve(undefined, async () => []),
    serve(UNKNOWN_PATH, () => table.routesAt(UNKNOWN_PATH)),
  );
  for (const path of table.paths)
    if (path !== UNKNOWN_PATH)
      app.all(
        path,
        serve(path, () => table.routesAt(path)),
      );
  app.use(unknownPath);
  // The router fails at a path that it cannot decode. Such a path is unknown.
  app.use((_error: unknown, request: Request, response: Response, _next: NextFunction) =>
    unknownPath(request, response),
  );
  return app;
}

/**
 * Reduces the target of a proxy request (`GET http://host/path`) to its path. The router would fail at an invalid
 * address.
 */
function toOriginForm(target: string): string {
  if (target.startsWith('/')) return target;
  const rest = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(.*)$/i.exec(target)?.[1];
  if (rest === undefined) return target;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Serves an unknown path: browsers get a page, if the server has one. */
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

/** Answers requests with the routes that `load` returns. Without a route the path is unknown. */
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
    const caller = await authenticate(route?.access ?? strictestAccess(routes), {
      method: request.method,
      headers: request.headers,
      otherKeys: protocolKeys(request, routes[0]?.protocol),
    });
    if (routes.length === 0) {
      const reply = options.answerUnknown?.(request.originalUrl);
      if (reply !== undefined) return reply;
      throw unknownUrl(request, options.unknownHint);
    }
    if (route === undefined) throw methodNotAllowed(request, routes);
    const params = Object.fromEntries(Object.entries(request.params).map(([name, value]) => [name, toText(value)]));
    const found = {
      requestId,
      method: request.method,
      path: request.path,
      search: request.url.replace(/^[^?]*/, ''),
      params,
      headers: request.headers,
      caller,
      signal,
      readBody: () =>
        readBody(request, {
          limitBytes: route.largeBodyBytes ?? limitBytes,
          acceptForms: route.access === 'page',
          acceptGzip: route.largeBodyBytes !== undefined,
        }),
      readFile: (mostBytes: number) => readPieces(request, mostBytes),
    };
    return await answerRoute(route, found, options.closing);
  }

  return (path: string | undefined, load: () => Promise<readonly Route[]>) =>
    (request: Request, response: Response) => {
      const exchange = startExchange(request, response);
      record(request, response, path, options);
      const refuse = (thrown: unknown, protocol?: RouteProtocol) =>
        exchange.signal.aborted ? {} : toErrorReply(thrown, exchange.requestId, logger, options.toErrorBody, protocol);
      load()
        .then((routes) => answer(routes, exchange).catch((thrown: unknown) => refuse(thrown, routes[0]?.protocol)))
        .catch((thrown: unknown) => refuse(thrown))
        .then((reply) => sendReply(response, reply, () => logTooSlow(request, response, logger)))
        .catch((error: unknown) => {
          logger.error({ requestId: exchange.requestId, err: error }, 'The reply could not be sent');
          response.destroy();
        });
    };
}

/** Answers the requests of a mount. It avoids additional promises and objects, because every tool call passes here. */
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

/** Creates a signal that is aborted when the client goes away. */
function startExchange(request: Request, response: Response): Exchange {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(new Error('The client went away'));
  });
  return { request, response, requestId: requestIdOf(response), signal: gone.signal };
}

function createOpenApiRoute(options: HttpAppOptions, table: RouteTable): Route {
  const document = once(async () =>
    createOpenApiDocument([...(await table.all()), route], {
      title: options.title,
      version: options.version,
      hasKeys: options.verifyKey !== undefined,
      hasBrowsers: options.verifyBrowser !== undefined,
      mounts: options.mounts ?? [],
    }),
  );
  const route: Route = {
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document',
    access: 'loopback',
    handle: async () => ({ body: await document.get() }),
  };
  return route;
}

/** Paths for load balancers, which may use any Host. */
const UNGUARDED_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

const ACCESS_BY_STRICTNESS = ['key', 'browser', 'key-or-browser', 'loopback', 'page', 'public'] as const;

/** Express gives the parts that `*name` matches as a list. */
function toText(value: string | readonly string[]): string {
  return typeof value === 'string' ? value : value.join('/');
}

/** The keys in the protocol's own header and query. */
function protocolKeys({ headers, url }: Request, protocol: RouteProtocol | undefined): readonly string[] {
  const { keyHeader, keyQuery } = protocol ?? {};
  const inHeader = keyHeader === undefined ? undefined : headers[keyHeader];
  const inQuery = keyQuery === undefined ? [] : new URLSearchParams(url.replace(/^[^?]*/, '')).getAll(keyQuery);
  return [inHeader, ...inQuery].filter((key): key is string => typeof key === 'string' && key !== '');
}

/**
 * The strictest access of a path's routes. The key is checked before path and method, so that strangers cannot find out
 * which paths exist.
 */
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
