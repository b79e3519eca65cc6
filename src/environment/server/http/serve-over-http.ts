import { inspect } from 'node:util';
import { DEFAULT_PORTS, SHUTDOWN_GRACE_MS } from '../../../contract/names.ts';
import { LOCAL_CALLER } from '../../../support/http/api/api-keys.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../../../support/http/api/body.ts';
import type { Caller } from '../../../support/http/api/route.ts';
import { createHttpApp } from '../../../support/http/app.ts';
import { createHealthRoutes } from '../../../support/http/health-routes.ts';
import { listen } from '../../../support/http/listen.ts';
import { assertBindAllowed, isLoopbackHost, parseAllowedHosts } from '../../../support/http/origin-guard.ts';
import type { HttpLog } from '../../../support/http/request-log.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import type { EnvironmentSource } from '../../authoring/environment-source.ts';
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
  /** Address to bind. Default 127.0.0.1. Any address other than loopback needs a bearer token. */
  readonly host?: string | undefined;
  /** Port to bind, 0 for any free one. Default 8765. */
  readonly port?: number | undefined;
  /** Path of the MCP endpoint. Default `/mcp`. */
  readonly path?: string | undefined;
  /** Token that every request has to send, if it is set. It does not affect the audience. */
  readonly bearerToken?: string | undefined;
  readonly harnessKey?: string | undefined;
  /** Settings of sandboxes, in the form of `PROCTOR_SANDBOX`. Default: that variable. */
  readonly sandbox?: string | undefined;
  /** Host names that Host and Origin may contain, besides those of loopback and of `PROCTOR_ALLOWED_HOSTS`. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Maximum number of sessions. Default 1,000. */
  readonly maxSessions?: number | undefined;
  /** Milliseconds without activity after which a session ends. Default 30 minutes. */
  readonly idleTimeoutMs?: number | undefined;
  /** Maximum size of a request body in bytes. Default 4 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** True adds the deprecated `/sse` and `/messages`. Default false. */
  readonly hasSse?: boolean | undefined;
  /** True serves the development helpers at `/svc`, on loopback only. Default true. */
  readonly helpers?: boolean | undefined;
  /**
   * Milliseconds that a request continues after its client lost the stream, so that it can reconnect. Default 30,000.
   */
  readonly resumeWindowMs?: number | undefined;
  readonly report?: Report | undefined;
  /** The current time in milliseconds. Only tests set it. */
  readonly now?: (() => number) | undefined;
}

/** Paths that the MCP endpoint cannot have. */
const OWN_PATHS: readonly string[] = ['/healthz', '/readyz', '/openapi.json', SSE_PATH, MESSAGES_PATH];
const DEFAULTS = { maxSessions: 1_000, idleTimeoutMs: 30 * 60_000 } as const;

/**
 * Serves an environment over Streamable HTTP with a session for each client. SIGTERM runs the shutdown hooks.
 *
 * @throws TypeError if it is not an environment, and for an invalid path; Error for a bad key, an address that cannot
 *   be bound, or an address that is open to other machines without a bearer token.
 */
export async function serveOverHttp(environment: EnvironmentSource, options: HttpOptions = {}): Promise<HttpServer> {
  const authority = { harnessKey: takeHarnessKey(options.harnessKey), isPeerTrusted: false };
  const { report = reportToStderr, sandbox } = options;
  const host = new EnvironmentHost(environment, { authority, report, sandbox });
  return serveHostOverHttp(host, options);
}

export interface HttpServer {
  /** URL of the MCP endpoint. */
  readonly url: string;
  /** The address of the deprecated transport's stream, if it is served. */
  readonly sseUrl: string | undefined;
  close(): Promise<void>;
}

/** Serves the sessions of any host in the same way. The host is closed with the server. @throws as `serveOverHttp`. */
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

/** @throws TypeError if it is not a path, or is already used on this server. */
function assertPath(path: string): void {
  if (typeof path !== 'string' || !PATH_PATTERN.test(path)) {
    const hint = 'The path has to start with "/" and be what an address can have without a query, as in /mcp';
    throw new TypeError(`${hint}, got ${preview(path)}`);
  }
  const isTaken = OWN_PATHS.includes(path) || path === HELPERS_PATH || path.startsWith(`${HELPERS_PATH}/`);
  if (isTaken) throw new TypeError(`The path ${path} has another meaning on this server: choose one such as /mcp`);
}

/** Paths without a query and without characters that need percent-encoding. */
const PATH_PATTERN = /^\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*$/;

/** @throws TypeError for an invalid limit. With it, sessions would never open, or end at once. */
function assertLimit(name: string, value: number): void {
  if (typeof value === 'number' && value > 0) return;
  throw new TypeError(`${name} has to be a number above 0, got ${Number.isNaN(value) ? 'NaN' : preview(value)}`);
}

/** @throws Error for a token that no request could send. */
function assertBearerToken(bearerToken: string | undefined): void {
  if (bearerToken === '') throw new Error('The bearer token is empty: give a random one, or none at all');
  if (bearerToken === undefined || (typeof bearerToken === 'string' && /^[\x21-\x7e]+$/.test(bearerToken))) return;
  throw new Error('No request could show this bearer token: it has to be text without spaces, in ASCII');
}

const BEARER: Caller = { ...LOCAL_CALLER, keyId: 'bearer' };

function holderOf(bearerToken: string, shown: string): Caller | undefined {
  return isSameSecret(shown, bearerToken) ? BEARER : undefined;
}

/** A logger that only reports errors, because an environment has no log of requests. */
function logTo(report: Report): HttpLog {
  return {
    warn: () => {},
    error: ({ err, requestId }) => report(`The request ${requestId} failed: ${inspect(err)}`),
  };
}
