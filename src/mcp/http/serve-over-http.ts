import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { ApiError } from '../../contract/errors.ts';
import { DEFAULT_PORTS, SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import type { EnvironmentSource } from '../../environment/environment-source.ts';
import { endReply } from '../../http/end-reply.ts';
import { listen } from '../../http/listen.ts';
import { createOriginGuard, isLoopbackHost, parseAllowedHosts } from '../../http/origin-guard.ts';
import { createRequestId, REQUEST_ID_HEADER } from '../../http/request-id.ts';
import { preview } from '../../schema/json-schema.ts';
import { type Report, reportToStderr } from '../cleanup.ts';
import { EnvironmentHost } from '../environment-host.ts';
import { takeHarnessKey } from '../harness-key.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import type { SessionHost } from '../session-host.ts';
import { onSigterm } from '../sigterm.ts';
import { answerPreflight, assertMayBind, authenticate } from './checks.ts';
import { answerDocument, answerReadiness, toOpenApi } from './documents.ts';
import { serveEndpoint } from './endpoint.ts';
import { createHelperRoutes, HELPERS_PATH } from './helper-routes.ts';
import { isNobodysFault, refuseFailed } from './send-refusal.ts';
import { Sessions } from './sessions.ts';
import { MESSAGES_PATH, openSse, postToSse, SSE_PATH } from './sse.ts';

export interface HttpOptions {
  /** Default 127.0.0.1. Elsewhere than on loopback a bearer token is needed. */
  readonly host?: string | undefined;
  /** Default 8765; 0 for any free one. */
  readonly port?: number | undefined;
  /** Default `/mcp`. */
  readonly path?: string | undefined;
  /** Asked of every request where it is set. It says nothing of the audience. */
  readonly bearerToken?: string | undefined;
  readonly harnessKey?: string | undefined;
  /** Names beside those of loopback, and of `PROCTOR_ALLOWED_HOSTS`, that Host and Origin may have. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Default 1,000. */
  readonly maxSessions?: number | undefined;
  /** Milliseconds; default 30 minutes. */
  readonly idleTimeoutMs?: number | undefined;
  /** Default 4 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** Adds the deprecated pair of `/sse` and `/messages`. Default false. */
  readonly hasSse?: boolean | undefined;
  /** The development helpers at `/svc`, which are there on loopback alone. Default true. */
  readonly helpers?: boolean | undefined;
  /** Milliseconds that a request goes on whose client has lost its stream and could come back for it. Default 30 s. */
  readonly resumeWindowMs?: number | undefined;
  readonly report?: Report | undefined;
  /** Milliseconds; passed in by tests. */
  readonly now?: (() => number) | undefined;
}

/** Paths that the MCP endpoint cannot have. */
const OWN_PATHS: readonly string[] = ['/healthz', '/readyz', '/openapi.json', SSE_PATH, MESSAGES_PATH];
const DEFAULTS = { maxSessions: 1_000, idleTimeoutMs: 30 * 60_000, maxBodyBytes: 4 * 1024 * 1024 } as const;

/**
 * Serves an environment over Streamable HTTP, a session for each client. SIGTERM runs the shutdown hooks.
 *
 * @throws TypeError for what is not an environment or a path; Error for a bad key, an address that cannot be bound, or one that is
 *   open to other machines without a bearer token.
 */
export async function serveOverHttp(environment: EnvironmentSource, options: HttpOptions = {}): Promise<HttpServer> {
  const authority = { harnessKey: takeHarnessKey(options.harnessKey), isPeerTrusted: false };
  const host = new EnvironmentHost(environment, { authority, report: options.report ?? reportToStderr });
  return serveHostOverHttp(host, options);
}

export interface HttpServer {
  /** URL of the MCP endpoint. */
  readonly url: string;
  /** Where the deprecated transport opens its stream, if it is served. */
  readonly sseUrl: string | undefined;
  close(): Promise<void>;
}

/** The same, whatever makes the sessions; the host is closed with the server. @throws as `serveOverHttp`. */
export async function serveHostOverHttp(host: SessionHost, options: HttpOptions = {}): Promise<HttpServer> {
  const { host: address = '127.0.0.1', port = DEFAULT_PORTS.environment, path = '/mcp', bearerToken } = options;
  const { hasSse = false, helpers: hasHelpers = true, maxBodyBytes = DEFAULTS.maxBodyBytes } = options;
  assertMayBind(address, bearerToken);
  assertPath(path);
  const { authority, report } = host;
  const { maxSessions = DEFAULTS.maxSessions, idleTimeoutMs = DEFAULTS.idleTimeoutMs, now = Date.now } = options;
  for (const [name, value] of Object.entries({ maxSessions, idleTimeoutMs, maxBodyBytes })) assertLimit(name, value);
  const sessions = new Sessions(host, { maxSessions, idleTimeoutMs, now, resumeWindowMs: options.resumeWindowMs });
  const allowedHosts = parseAllowedHosts(process.env.PROCTOR_ALLOWED_HOSTS);
  const guard = createOriginGuard([...(options.allowedHosts ?? []), ...allowedHosts]);
  const isLocal = isLoopbackHost(address);
  const helpers = hasHelpers && isLocal ? createHelperRoutes(host, path) : undefined;
  const hasBearerToken = bearerToken !== undefined;
  const openApi = toOpenApi(host, { path, hasBearerToken, hasSse, hasHelpers: helpers !== undefined });
  const isRpc = (pathname: string) =>
    pathname === path || (hasSse && (pathname === SSE_PATH || pathname === MESSAGES_PATH));
  let isShuttingDown = false;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pathname = pathOf(request);
    if (pathname === '/healthz') return answerDocument(request, response, { status: 'ok' });
    if (pathname === '/readyz') return answerReadiness(request, response, isShuttingDown);
    guard.check(request.headers);
    if (answerPreflight(request, response)) return;
    if (pathname === '/openapi.json' && isLocal) return answerDocument(request, response, openApi);
    const caller = authenticate(request, bearerToken);
    if (pathname === '/openapi.json') return answerDocument(request, response, openApi);
    if (!isRpc(pathname) && helpers?.has(pathname) !== true) {
      const sse = hasSse ? `, and over HTTP+SSE at ${SSE_PATH}` : '';
      throw new ApiError('unknown_url', `There is nothing at ${pathname}: MCP is served at ${path}${sse}`);
    }
    if (isShuttingDown) {
      const headers = { 'retry-after': '5' };
      if (!isRpc(pathname)) throw new ApiError('shutting_down', 'This server is shutting down', { headers });
      throw new Refusal(503, RPC_CODE.refused, 'This server is shutting down', { headers });
    }
    if (pathname === path) return serveEndpoint(request, response, caller, { sessions, authority, maxBodyBytes });
    if (pathname === SSE_PATH) return openSse(request, response, caller, sessions);
    if (pathname === MESSAGES_PATH) return postToSse(request, response, caller, { sessions, maxBodyBytes });
    await helpers?.answer(pathname, request, response);
  };
  const listener = await listen(answerWith(answer, isRpc, report), { host: address, port }).catch((error: unknown) => {
    sessions.stop();
    throw error;
  });
  const forgetSigterm = onSigterm(async (budgetMs) => {
    isShuttingDown = true;
    await host.shutdown(budgetMs);
  });
  return {
    url: `${listener.url}${path}`,
    sseUrl: hasSse ? `${listener.url}${SSE_PATH}` : undefined,
    async close() {
      forgetSigterm();
      sessions.stop();
      isShuttingDown = true;
      await Promise.all([host.close(SHUTDOWN_GRACE_MS.environment), listener.close()]);
    },
  };
}

/** @throws TypeError for what is no path, or one that means something else here. */
function assertPath(path: string): void {
  if (typeof path !== 'string' || !PATH_PATTERN.test(path)) {
    const hint = 'The path has to start with "/" and be what an address can have without a query, as in /mcp';
    throw new TypeError(`${hint}, got ${preview(path)}`);
  }
  const isTaken = OWN_PATHS.includes(path) || path === HELPERS_PATH || path.startsWith(`${HELPERS_PATH}/`);
  if (isTaken) throw new TypeError(`The path ${path} has another meaning on this server: choose one such as /mcp`);
}

/** Paths that a request can name: without a query and without characters that need percent-encoding. */
const PATH_PATTERN = /^\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*$/;

/** @throws TypeError for a limit that is none: sessions would never open, or end as soon as they have. */
function assertLimit(name: string, value: number): void {
  if (typeof value === 'number' && value > 0) return;
  throw new TypeError(`${name} has to be a number above 0, got ${Number.isNaN(value) ? 'NaN' : preview(value)}`);
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?')[0] ?? '';
}

/** Turns whatever is thrown on the way into an answer: JSON-RPC where MCP is spoken, our own shape elsewhere. */
function answerWith(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  isRpc: (pathname: string) => boolean,
  report: Report,
): RequestListener {
  return (request, response) => {
    response.setHeader(REQUEST_ID_HEADER, createRequestId());
    answer(request, response).catch((error: unknown) => {
      if (error instanceof Refusal || isRpc(pathOf(request))) refuseFailed(request, response, error, report);
      else if (error instanceof ApiError) sendApiError(response, error);
      else if (!isNobodysFault(request, response)) {
        report(`A request failed: ${inspect(error)}`);
        sendApiError(response, new ApiError('internal_error', 'Internal error'));
      }
    });
  };
}

function sendApiError(response: ServerResponse, error: ApiError): void {
  if (response.headersSent || response.destroyed) return;
  const body = JSON.stringify(error.toBody());
  response.writeHead(error.status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...error.headers,
  });
  endReply(response, body);
}
