import { inspect } from 'node:util';
import { DEFAULT_PORTS, SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import type { EnvironmentSource } from '../../environment/environment-source.ts';
import { LOCAL_CALLER } from '../../http/api-keys.ts';
import { createHttpApp } from '../../http/app.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../../http/body.ts';
import { createHealthRoutes } from '../../http/health-routes.ts';
import { listen } from '../../http/listen.ts';
import { assertBindAllowed, isLoopbackHost, parseAllowedHosts } from '../../http/origin-guard.ts';
import type { HttpLog } from '../../http/request-log.ts';
import type { Caller } from '../../http/route.ts';
import { preview } from '../../schema/json-schema.ts';
import { isSameSecret } from '../audience.ts';
import { type Report, reportToStderr } from '../cleanup.ts';
import { EnvironmentHost } from '../environment-host.ts';
import { takeHarnessKey } from '../harness-key.ts';
import type { SessionHost } from '../session-host.ts';
import { onSigterm } from '../sigterm.ts';
import { createMount } from './endpoint.ts';
import { createHelperRoutes, HELPERS_PATH } from './helper-routes.ts';
import { Sessions } from './sessions.ts';
import { createSseMounts, MESSAGES_PATH, SSE_PATH } from './sse.ts';

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
const DEFAULTS = { maxSessions: 1_000, idleTimeoutMs: 30 * 60_000 } as const;

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
  const { hasSse = false, helpers: hasHelpers = true, maxBodyBytes = DEFAULT_BODY_LIMIT_BYTES } = options;
  assertBearerToken(bearerToken);
  assertBindAllowed(address, bearerToken !== undefined, 'set bearerToken');
  assertPath(path);
  const { authority, report } = host;
  const { maxSessions = DEFAULTS.maxSessions, idleTimeoutMs = DEFAULTS.idleTimeoutMs, now = Date.now } = options;
  for (const [name, value] of Object.entries({ maxSessions, idleTimeoutMs, maxBodyBytes })) assertLimit(name, value);
  const sessions = new Sessions(host, { maxSessions, idleTimeoutMs, now, resumeWindowMs: options.resumeWindowMs });
  const closing = new AbortController();
  const app = createHttpApp({
    loadsLate: true,
    title: host.name,
    version: host.version,
    host: address,
    allowedHosts: [...(options.allowedHosts ?? []), ...parseAllowedHosts(process.env.PROCTOR_ALLOWED_HOSTS)],
    verifyKey: bearerToken === undefined ? undefined : (key) => holderOf(bearerToken, key),
    keyHint: 'It is the bearer token that this server was started with.',
    logger: logTo(report),
    closing: closing.signal,
    unknownHint: `MCP is served at ${path}${hasSse ? `, and over HTTP+SSE at ${SSE_PATH}` : ''}.`,
    mounts: [
      createMount(path, { sessions, authority, maxBodyBytes, report }),
      ...(hasSse ? createSseMounts({ sessions, maxBodyBytes, report }) : []),
    ],
    routes: [
      ...createHealthRoutes({ checks: [], closing: closing.signal }),
      ...(hasHelpers && isLoopbackHost(address) ? createHelperRoutes(host, path, closing.signal) : []),
    ],
  });
  const listener = await listen(app, { host: address, port }).catch((error: unknown) => {
    sessions.stop();
    throw error;
  });
  const forgetSigterm = onSigterm(async (budgetMs) => {
    closing.abort();
    await host.shutdown(budgetMs);
  });
  return {
    url: `${listener.url}${path}`,
    sseUrl: hasSse ? `${listener.url}${SSE_PATH}` : undefined,
    async close() {
      forgetSigterm();
      sessions.stop();
      closing.abort();
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

/** @throws Error for a token that no request could show. */
function assertBearerToken(bearerToken: string | undefined): void {
  if (bearerToken === '') throw new Error('The bearer token is empty: give a random one, or none at all');
  if (bearerToken === undefined || (typeof bearerToken === 'string' && /^[\x21-\x7e]+$/.test(bearerToken))) return;
  throw new Error('No request could show this bearer token: it has to be text without spaces, in ASCII');
}

const BEARER: Caller = { ...LOCAL_CALLER, keyId: 'bearer' };

function holderOf(bearerToken: string, shown: string): Caller | undefined {
  return isSameSecret(shown, bearerToken) ? BEARER : undefined;
}

/** An environment has no log of requests: it says what fails. */
function logTo(report: Report): HttpLog {
  return {
    warn: () => {},
    error: ({ err, requestId }) => report(`The request ${requestId} failed: ${inspect(err)}`),
  };
}
