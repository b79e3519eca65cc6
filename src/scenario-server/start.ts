import type { Accounts } from '../accounts/accounts.ts';
import { guardedBy } from '../accounts/guard.ts';
import { Idempotency } from '../accounts/idempotency.ts';
import { catalogueCheck } from '../client/catalogue.ts';
import { addPoolMetrics } from '../client/pool-metrics.ts';
import { preloadSessions } from '../client/preload-sessions.ts';
import { SHUTDOWN_GRACE_MS } from '../contract/names.ts';
import { storeCheck } from '../database/database.ts';
import { type AuthenticationOptions, accountOf } from '../http/api-keys.ts';
import { createHttpApp } from '../http/app.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../http/body.ts';
import { createHealthRoutes } from '../http/health-routes.ts';
import { listen } from '../http/listen.ts';
import { createHttpMetrics } from '../http/metrics.ts';
import { assertBindAllowed } from '../http/origin-guard.ts';
import type { Route } from '../http/route.ts';
import { mountEndpoint } from '../mcp/http/mounted-endpoint.ts';
import { RegisteredModels } from '../model/registered-models.ts';
import { PROCTOR_VERSION } from '../runtime/version.ts';
import { createBlobRoute } from '../trace-routes/blob-route.ts';
import { createEventsRoute } from '../trace-routes/events-route.ts';
import { createTracesRoutes } from '../trace-routes/traces-route.ts';
import { createPages } from '../web/pages.ts';
import { AccountEndpoints } from './account-endpoints.ts';
import { createCatalogueRoutes } from './catalogue-routes.ts';
import type { ChatCompletion } from './chat-completion.ts';
import { type ChatRouteOptions, createChatRoute } from './chat-route.ts';
import { createLifecycleRoutes } from './lifecycle-routes.ts';
import { LifecycleTools } from './lifecycle-tools.ts';
import { createMcpTools, type McpToolsOptions } from './mcp-tools.ts';
import { assertRanges, SESSION_DEFAULTS } from './option-ranges.ts';
import { createSessionEngine, type SessionEngineOptions } from './session-engine.ts';
import { createSessionEventsRoute } from './session-events-route.ts';
import type { SessionRegistry } from './session-registry.ts';
import { createSessionRoutes } from './session-routes.ts';

export interface ScenarioServerOptions
  extends SessionEngineOptions,
    Pick<AuthenticationOptions, 'verifyKey' | 'keyHint'> {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Where the trace pages are, without a slash at the end. Undefined: here. */
  readonly appUrl?: string | undefined;
  /** Accounts that may open the playground at `/` and the trace pages. Undefined: the server has no pages. */
  readonly accounts?: Accounts | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
  /** Milliseconds that `close` may take in all. Default 10,000. */
  readonly shutdownGraceMs?: number | undefined;
  /** For tests: what a turn may take. */
  readonly turnLimits?:
    | (Pick<ChatRouteOptions, 'limitMs' | 'keepAliveMs'> & Pick<McpToolsOptions, 'progressEveryMs'>)
    | undefined;
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

/** MCP clients at `/mcp`; the one that was idle longest gives way. */
const MAX_MCP_SESSIONS = 1_000;

/** Default for each environment that runs in a process. */
export const DEFAULT_WARM_PROCESSES = 2;

/** Share of the budget for turns to end by themselves; an environment process that has to be killed takes half of it. */
const PATIENT_SHARE = 0.45;
const CLOSING_SHARE = 0.95;

/**
 * Starts the scenario server (contract section 2).
 *
 * @throws TypeError for a number that cannot be meant; Error that says what to do: for a model that no gateway has, a port in use, an address of another machine, and
 *   for a bind elsewhere than loopback without keys.
 */
export async function startScenarioServer(options: ScenarioServerOptions): Promise<ScenarioServer> {
  assertRanges(options);
  const { host, port, database, models, logger, now = Date.now } = options;
  assertBindAllowed(host, options.verifyKey !== undefined, 'give one with --api-key or PROCTOR_SCENARIOS_API_KEY');
  const warmProcesses = options.warmProcesses ?? DEFAULT_WARM_PROCESSES;
  preloadSessions();
  const engine = createSessionEngine({ ...options, warmProcesses });
  const { catalogue, scenarios, registry } = engine;
  const closing = new AbortController();
  const toTraceUrl = (traceId: string) => `${appUrl}/traces/${traceId}`;
  const { limitMs } = options.turnLimits ?? {};
  const tools = new LifecycleTools({ scenarios, registry, logger, toTraceUrl, limitMs });
  const endpoints = new AccountEndpoints((account) =>
    mountEndpoint(createMcpTools(tools, scenarios, { ...options.turnLimits, account }), {
      report: (line) => logger.warn(line),
      maxSessions: MAX_MCP_SESSIONS,
      idleTimeoutMs: options.sessionTtlMs ?? SESSION_DEFAULTS.sessionTtlMs,
      maxBodyBytes: DEFAULT_BODY_LIMIT_BYTES,
    }),
  );
  const idempotency = new Idempotency<ChatCompletion>({
    database,
    scope: 'chat',
    now,
    redactor: options.store.redactor,
    isAlive: async ({ svc }) => (await options.store.row(svc.trace_id)) !== undefined,
  });
  const metrics = createHttpMetrics();
  const stopMetrics = addPoolMetrics(metrics.registry, engine.pool, options.environments);
  const pages = createServerPages(options, registry, closing.signal);
  const app = createHttpApp({
    title: 'Proctor scenario server',
    version: PROCTOR_VERSION,
    host,
    allowedHosts: options.allowedHosts ?? [],
    logger,
    verifyKey: options.verifyKey,
    keyHint: options.keyHint,
    verifyBrowser: options.accounts === undefined ? undefined : guardedBy(options.accounts).verifyBrowser,
    closing: closing.signal,
    observe: metrics.observe,
    mounts: [
      {
        path: '/mcp',
        methods: ['POST', 'GET', 'DELETE'],
        handle: (request, response, caller) =>
          endpoints.of(accountOf(caller)).handle(request, response, caller?.keyId ?? 'local'),
      },
    ],
    routes: [
      createChatRoute({ registry, idempotency, logger, toTraceUrl, now, ...options.turnLimits }),
      ...createSessionRoutes({ registry, toTraceUrl, now }),
      ...createLifecycleRoutes(tools),
      ...createCatalogueRoutes(scenarios, models, new RegisteredModels(database), options.model),
      ...createHealthRoutes({
        checks: [storeCheck(database), catalogueCheck(catalogue, logger)],
        closing: closing.signal,
      }),
      metrics.route,
      ...pages,
    ],
  });
  const failed = await engine.endOrphans();
  if (failed > 0) logger.warn({ sessions: failed }, 'Sessions of a server that is gone were ended as failed');
  const listener = await listen(app, { host, port }).catch(async (error: unknown) => {
    stopMetrics();
    await engine.close(0);
    throw error;
  });
  const appUrl = options.appUrl ?? listener.url;

  const close = async () => {
    const graceMs = options.shutdownGraceMs ?? SHUTDOWN_GRACE_MS.service;
    const endsAt = performance.now() + graceMs * CLOSING_SHARE;
    closing.abort(new Error('The server is shutting down'));
    await engine.close(graceMs * PATIENT_SHARE, graceMs * CLOSING_SHARE);
    await endpoints.close(Math.max(0, endsAt - performance.now()));
    await listener.close(Math.max(0, endsAt - performance.now()));
    stopMetrics();
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

function createServerPages(
  { accounts, verifyKey, store, model, logger, appUrl }: ScenarioServerOptions,
  registry: SessionRegistry,
  closing: AbortSignal,
): readonly Route[] {
  if (accounts === undefined) return [];
  // The sign-in form takes the key of this very server, too.
  const verifyEither = async (key: string) => (await verifyKey?.(key)) ?? (await accounts.verifyKey(key));
  const visitors: Accounts = { ...accounts, verifyKey: verifyEither };
  return [
    ...createPages({ store, accounts: visitors, runsPath: '/traces', playground: { model, runService: appUrl } }),
    createSessionEventsRoute(registry, { store, accounts, logger, closing }),
    // The data of the pages. The run service has the same routes for API keys.
    ...createTracesRoutes({ store, access: 'browser', closing }),
    createEventsRoute({ store, accounts, access: 'browser', deltas: registry.deltas, logger, closing }),
    createBlobRoute({ store, access: 'browser' }),
  ];
}
