import { LOCAL_ACCOUNT, SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import { catalogueCheck } from '../../environment/client/catalogue.ts';
import { addPoolMetrics } from '../../environment/client/pool/pool-metrics.ts';
import { preloadSessions } from '../../environment/client/pool/preload-sessions.ts';
import { mountEndpoint } from '../../environment/server/http/mounted-endpoint.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import { guardedBy } from '../../store/accounts/guard.ts';
import { Idempotency } from '../../store/accounts/idempotency.ts';
import { storeCheck } from '../../store/database/database.ts';
import { RegisteredModels } from '../../store/models/registered-models.ts';
import { type AuthenticationOptions, accountOf } from '../../support/http/api/api-keys.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../../support/http/api/body.ts';
import type { Route } from '../../support/http/api/route.ts';
import { createHttpApp } from '../../support/http/app.ts';
import { createHealthRoutes } from '../../support/http/health-routes.ts';
import { listen } from '../../support/http/listen.ts';
import { createHttpMetrics } from '../../support/http/metrics.ts';
import { assertBindAllowed } from '../../support/http/origin-guard.ts';
import { PROCTOR_VERSION } from '../../support/runtime/version.ts';
import { createPages } from '../../web/pages.ts';
import { createBlobRoute } from '../traces/blob-route.ts';
import { createEventsRoute } from '../traces/events-route.ts';
import { createTracesRoutes } from '../traces/traces-route.ts';
import { AccountEndpoints } from './account-endpoints.ts';
import type { TurnReply } from './answered-turn.ts';
import { createCatalogueRoutes } from './catalogue-routes.ts';
import { type ChatRouteOptions, createChatRoutes } from './chat-route.ts';
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
  /** Port. 0 takes any free one. */
  readonly port: number;
  /** Address of the trace pages, without a slash at the end. Undefined: this server. */
  readonly appUrl?: string | undefined;
  /** Accounts for the playground at `/` and the trace pages. Undefined: the server has no pages. */
  readonly accounts?: Accounts | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
  /** Limit of `close` in milliseconds. Default 10,000. */
  readonly shutdownGraceMs?: number | undefined;
  /** For tests: limits and intervals of a turn. */
  readonly turnLimits?:
    | (Pick<ChatRouteOptions, 'limitMs' | 'keepAliveMs'> & Pick<McpToolsOptions, 'progressEveryMs'>)
    | undefined;
}

export interface ScenarioServer {
  /** Address of the server, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /**
   * Refuses new work (503 `shutting_down`), lets turns and evaluations finish within the budget, fails the rest, and
   * closes every session and its environment. The caller closes database and store. Never rejects.
   */
  close(): Promise<void>;
}

/** Most MCP sessions at `/mcp`. Beyond this number the one that was idle longest is closed. */
const MAX_MCP_SESSIONS = 1_000;

/** Default number of warm processes for each environment that runs in a process. */
export const DEFAULT_WARM_PROCESSES = 2;

/**
 * Shares of the shutdown budget: until the first, turns may end by themselves; until the second, everything is closed.
 * Killing a process takes half of the budget.
 */
const PATIENT_SHARE = 0.45;
const CLOSING_SHARE = 0.95;

/**
 * Starts the scenario server (contract section 2).
 *
 * @throws TypeError for a number out of range; Error with a way out for a model without a gateway, a port in use, an
 * address of another machine, and a bind beyond loopback without keys.
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
  const idempotency = new Idempotency<TurnReply>({
    database,
    scope: 'turn',
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
          endpoints.of(accountOf(caller)).handle(request, response, caller?.keyId ?? LOCAL_ACCOUNT),
      },
    ],
    routes: [
      ...createChatRoutes({ registry, idempotency, logger, toTraceUrl, now, ...options.turnLimits }),
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
  // The sign-in form also accepts the key of this server.
  const verifyEither = async (key: string) => (await verifyKey?.(key)) ?? (await accounts.verifyKey(key));
  const visitors: Accounts = { ...accounts, verifyKey: verifyEither };
  return [
    ...createPages({ store, accounts: visitors, runsPath: '/traces', playground: { model, runService: appUrl } }),
    createSessionEventsRoute(registry, { store, accounts, logger, closing }),
    // Data routes of the pages. The run service has the same routes for API keys.
    ...createTracesRoutes({ store, access: 'browser', closing }),
    createEventsRoute({ store, accounts, access: 'browser', deltas: registry.deltas, logger, closing }),
    createBlobRoute({ store, access: 'browser' }),
  ];
}
