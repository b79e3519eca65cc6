import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { catalogueCheck, createCatalogue } from '../client/catalogue.ts';
import { connectEnvironment } from '../client/connect.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import { hashEnvironmentCode } from '../client/module-hash.ts';
import { MAX_STEPS, SHUTDOWN_GRACE_MS } from '../contract/names.ts';
import { PROCTOR_VERSION } from '../contract/version.ts';
import { type Database, storeCheck } from '../database/database.ts';
import type { AuthenticationOptions } from '../http/api-keys.ts';
import { createHttpApp } from '../http/app.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../http/body.ts';
import { createHealthRoutes } from '../http/health-routes.ts';
import { listen } from '../http/listen.ts';
import { assertBindAllowed } from '../http/origin-guard.ts';
import type { Route } from '../http/route.ts';
import { mountEndpoint } from '../mcp/http/mounted-endpoint.ts';
import type { Models } from '../model/create-model.ts';
import type { RolloutLimits } from '../rollout/limits.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { createCatalogueRoutes } from './catalogue-routes.ts';
import { type ChatRouteOptions, createChatRoute } from './chat-route.ts';
import { Idempotency } from './idempotency.ts';
import { createLifecycleRoutes } from './lifecycle-routes.ts';
import { LifecycleTools } from './lifecycle-tools.ts';
import { createMcpTools } from './mcp-tools.ts';
import { Scenarios } from './scenarios.ts';
import { SessionRecords } from './session-records.ts';
import { SessionRegistry } from './session-registry.ts';
import { createSessionRoutes } from './session-routes.ts';
import { SessionStarter } from './session-starter.ts';

export interface ScenarioServerOptions extends Pick<AuthenticationOptions, 'verifyKey' | 'verifyBrowser'> {
  /** By the names that stand before the colon of a scenario's full name. */
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly database: Database;
  readonly store: TraceStore;
  readonly models: Models;
  /** Of sessions that name none. */
  readonly model: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Where the trace pages are, without a slash at the end. Undefined: here. */
  readonly appUrl?: string | undefined;
  /** Routes beside those of the server, such as the trace pages. */
  readonly pages?: readonly Route[];
  readonly allowedHosts?: readonly string[] | undefined;
  readonly logger: Logger;
  /** Of a turn, where a session does not say. Default 100. */
  readonly maxSteps?: number | undefined;
  /** Milliseconds since the end of the last turn. Default 30 minutes. */
  readonly sessionTtlMs?: number | undefined;
  /** Active at a time. Default 1,000. */
  readonly maxSessions?: number | undefined;
  /** Milliseconds that `close` may take in all. Default 10,000. */
  readonly shutdownGraceMs?: number | undefined;
  /** For tests: what each part of a session and of a turn may take, and the clock. */
  readonly limits?: Partial<RolloutLimits> | undefined;
  readonly turnLimits?: Pick<ChatRouteOptions, 'limitMs' | 'keepAliveMs'> | undefined;
  readonly now?: (() => number) | undefined;
}

export interface ScenarioServer {
  /** Without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /**
   * Takes no new work (503 `shutting_down`), lets turns and evaluations finish within the budget, ends the rest with an
   * error, and closes every session and its environment. Database and store are closed by whoever opened them. Never
   * rejects.
   */
  close(): Promise<void>;
}

const DEFAULTS = { sessionTtlMs: 30 * 60_000, maxSessions: 1_000 } as const;
/** MCP clients at `/mcp`; the one that was idle longest gives way. */
const MAX_MCP_SESSIONS = 1_000;
const MCP_HEADERS = [
  'authorization',
  'content-type',
  'last-event-id',
  'mcp-session-id',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
] as const;

/** Of the budget, for turns to end by themselves; the rest is for what has to be stopped. */
const PATIENT_SHARE = 0.6;
const CLOSING_SHARE = 0.95;

/**
 * Starts the scenario server (contract section 2).
 *
 * @throws Error that says what to do: for a model that no gateway has, a port in use, an address of another machine, and
 *   for a bind elsewhere than loopback without keys.
 */
export async function startScenarioServer(options: ScenarioServerOptions): Promise<ScenarioServer> {
  const { host, port, database, store, models, logger, now = Date.now } = options;
  assertBindAllowed(host, options.verifyKey !== undefined, 'give one with --api-key or PROCTOR_SCENARIOS_API_KEY');
  const serverId = `scenarios_${process.pid}_${randomBytes(4).toString('hex')}`;
  const catalogue = createCatalogue(options.environments);
  const records = new SessionRecords(database, serverId);
  const registry = new SessionRegistry({
    store,
    records,
    models,
    logger,
    serverId,
    connect: (environment, connectOptions) =>
      connectEnvironment(targetOf(options.environments, environment), connectOptions),
    hashOf: (environment) => hashOf(targetOf(options.environments, environment)),
    maxSessions: options.maxSessions ?? DEFAULTS.maxSessions,
    sessionTtlMs: options.sessionTtlMs ?? DEFAULTS.sessionTtlMs,
    limits: options.limits,
    now,
  });
  const scenarios = new Scenarios(catalogue, [...options.environments.keys()]);
  const defaults = { model: options.model, maxSteps: options.maxSteps ?? MAX_STEPS.default };
  const starter = new SessionStarter({ scenarios, registry, models, defaults });
  const closing = new AbortController();
  const isShuttingDown = () => closing.signal.aborted;
  const toTraceUrl = (traceId: string) => `${appUrl}/traces/${traceId}`;
  const tools = new LifecycleTools({ scenarios, registry, starter, toTraceUrl });
  const endpoint = mountEndpoint(createMcpTools(tools), {
    report: (line) => logger.warn(line),
    maxSessions: MAX_MCP_SESSIONS,
    idleTimeoutMs: options.sessionTtlMs ?? DEFAULTS.sessionTtlMs,
    maxBodyBytes: DEFAULT_BODY_LIMIT_BYTES,
  });
  const idempotency = new Idempotency<never>(database, 'chat', now);
  const app = createHttpApp({
    title: 'Proctor scenario server',
    version: PROCTOR_VERSION,
    host,
    allowedHosts: options.allowedHosts ?? [],
    logger,
    verifyKey: options.verifyKey,
    verifyBrowser: options.verifyBrowser,
    isShuttingDown,
    mounts: [
      {
        path: '/mcp',
        methods: ['POST', 'GET', 'DELETE'],
        headers: MCP_HEADERS,
        handle: (request, response, caller) => endpoint.handle(request, response, caller?.keyId ?? 'local'),
      },
    ],
    routes: [
      createChatRoute({ registry, starter, idempotency, toTraceUrl, now, ...options.turnLimits }),
      ...createSessionRoutes({ registry, toTraceUrl, now }),
      ...createLifecycleRoutes(tools),
      ...createCatalogueRoutes(scenarios, models, options.model),
      ...createHealthRoutes({ checks: [storeCheck(database), catalogueCheck(catalogue)], isShuttingDown }),
      ...(options.pages ?? []),
    ],
  });
  const failed = await registry.failOrphans();
  if (failed > 0) logger.warn({ sessions: failed }, 'Sessions of a server that is gone were ended as failed');
  const listener = await listen(app, { host, port }).catch(async (error: unknown) => {
    records.close();
    await catalogue.close();
    throw error;
  });
  const appUrl = options.appUrl ?? listener.url;

  const close = async () => {
    const graceMs = options.shutdownGraceMs ?? SHUTDOWN_GRACE_MS.service;
    const endsAt = performance.now() + graceMs * CLOSING_SHARE;
    closing.abort(new Error('The server is shutting down'));
    await Promise.all([registry.close(graceMs * PATIENT_SHARE), catalogue.close()]);
    await endpoint.close();
    await listener.close(Math.max(0, endsAt - performance.now()));
    records.close();
  };
  let closed: Promise<void> | undefined;
  return {
    url: listener.url,
    port: listener.port,
    close() {
      closed ??= close();
      return closed;
    },
  };
}

function targetOf(environments: ReadonlyMap<string, EnvironmentTarget>, name: string): EnvironmentTarget {
  const target = environments.get(name);
  if (target === undefined) throw new TypeError(`There is no environment ${name}`);
  return target;
}

async function hashOf(target: EnvironmentTarget): Promise<string | null> {
  if (target.kind !== 'module') return null;
  try {
    return await hashEnvironmentCode(target.path);
  } catch {
    return null; // What cannot be read cannot be started either, and that is said in better words.
  }
}
