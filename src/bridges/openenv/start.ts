import { Gauge, type Registry } from 'prom-client';
import { type Catalogue, createCatalogue } from '../../client/catalogue.ts';
import type { EnvironmentTarget } from '../../client/environment-client.ts';
import { EnvironmentPool } from '../../client/environment-pool.ts';
import { hashTargetCode } from '../../client/module-hash.ts';
import { addPoolMetrics } from '../../client/pool-metrics.ts';
import { SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import { storeCheck } from '../../database/database.ts';
import { createHttpApp } from '../../http/app.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../../http/body.ts';
import { fixedKey } from '../../http/fixed-key.ts';
import { createHealthRoutes } from '../../http/health-routes.ts';
import { listen } from '../../http/listen.ts';
import { createHttpMetrics } from '../../http/metrics.ts';
import { assertBindAllowed } from '../../http/origin-guard.ts';
import { createWebSockets } from '../../http/web-sockets.ts';
import { PROCTOR_VERSION } from '../../runtime/version.ts';
import { createTasksets } from '../../tasks/find-tasksets.ts';
import type { BridgeServerOptions } from '../bridge-server-options.ts';
import { Episodes } from '../episodes.ts';
import { RESERVED_TOOL_NAMES } from './messages.ts';
import { createOpenEnvRoutes, createRpcMount, toDetail } from './routes.ts';
import type { ServedEnvironment } from './session.ts';
import { OpenEnvSessions } from './sessions.ts';
import { OpenEnvSockets } from './sockets.ts';
import { TaskChoice } from './tasks.ts';
import { createToError } from './to-error.ts';

export interface OpenEnvServerOptions extends BridgeServerOptions {
  /** Configured name, and where it is. */
  readonly environment: readonly [name: string, target: EnvironmentTarget];
  /** Short name of the scenario. Default: the only one, or the one that `reset` names. */
  readonly scenario?: string | undefined;
  /** For tests: milliseconds between two looks at who is idle, and between two pings of a socket. */
  readonly timing?: { readonly lookEveryMs?: number; readonly pingEveryMs?: number } | undefined;
}

export interface OpenEnvServer {
  /** Without a slash at the end. */
  readonly url: string;
  /** Short names of the scenarios that clients may ask for. */
  readonly scenarios: readonly string[];
  /** Ends every session as failed; evaluations that go on may end within the budget. Database and store are closed by their owner. Never rejects. */
  close(): Promise<void>;
}

const DEFAULTS = { maxSessions: 1_000, sessionTtlMs: 15 * 60_000, lookEveryMs: 5_000 } as const;
/** Share of the budget for evaluations that go on. */
const PATIENT_SHARE = 0.45;
const KEY_WAYS = '--api-key or PROCTOR_OPENENV_API_KEY';

/**
 * Serves one environment to clients of OpenEnv (contract section 11).
 *
 * @throws Error that says what to do: for an environment without a scenario that can be played, a tool whose name the
 *   protocol keeps for itself, a port in use, and a bind elsewhere than loopback without a key; OpenEnvError for an unknown
 *   scenario; ApiError
 *   taskset_not_found; BoundaryError for an environment that cannot be started.
 */
export async function startOpenEnvServer(options: OpenEnvServerOptions): Promise<OpenEnvServer> {
  const { host, port, logger, apiKey, environment } = options;
  assertBindAllowed(host, apiKey !== undefined, `give one with ${KEY_WAYS}`);
  const { maxSessions = DEFAULTS.maxSessions, sessionTtlMs = DEFAULTS.sessionTtlMs } = options;
  const lookEveryMs = options.timing?.lookEveryMs ?? DEFAULTS.lookEveryMs;
  const graceMs = options.shutdownGraceMs ?? SHUTDOWN_GRACE_MS.service;
  const environments = new Map([environment]);
  const pool = new EnvironmentPool({
    perEnvironment: 0,
    hosts: options.hosts,
    startTimeoutMs: options.startTimeoutMs,
    report: (line) => logger.warn(line),
  });
  const catalogue = createCatalogue(environments, { connect: (target, how) => pool.read(target, how) });
  const closing = new AbortController();
  const episodes = new Episodes({
    ...options,
    origin: 'openenv',
    environments,
    pool,
    maxSessions,
    sessionTtlMs,
    lookEveryMs,
  });
  const metrics = createHttpMetrics();
  const stopMetrics = addPoolMetrics(metrics.registry, pool, environments);
  const closeParts = async () => {
    await episodes.close(graceMs * PATIENT_SHARE);
    await Promise.all([catalogue.close(), pool.close()]);
    stopMetrics();
  };
  try {
    const served = await toServed(options, { catalogue, episodes, pool });
    const failed = await episodes.endOrphans();
    if (failed > 0) logger.warn({ sessions: failed }, 'Sessions of a server that is gone were ended as failed');
    const sessions = new OpenEnvSessions({ served, maxSessions, sessionTtlMs, lookEveryMs });
    addSessionMetric(metrics.registry, sessions);
    const context = { sessions, toError: createToError(served.name, sessions, logger) };
    const sockets = new OpenEnvSockets({ ...context, pingEveryMs: options.timing?.pingEveryMs });
    const shell = {
      host,
      allowedHosts: options.allowedHosts ?? [],
      logger,
      ...fixedKey(apiKey, KEY_WAYS),
      closing: closing.signal,
      toErrorBody: toDetail,
    };
    const routes = { ...context, name: served.name, description: describe(served.choice), logger };
    const app = createHttpApp({
      ...shell,
      title: 'Proctor OpenEnv server',
      version: PROCTOR_VERSION,
      observe: metrics.observe,
      mounts: [createRpcMount(routes)],
      routes: [
        ...createOpenEnvRoutes(routes),
        ...createHealthRoutes({ checks: [storeCheck(options.database)], closing: closing.signal }),
        metrics.route,
      ],
    });
    const upgrade = createWebSockets({
      ...shell,
      maxMessageBytes: DEFAULT_BODY_LIMIT_BYTES,
      paths: new Map([
        ['/ws', (socket) => sockets.open('/ws', socket)],
        ['/mcp', (socket) => sockets.open('/mcp', socket)],
      ]),
    });
    const listener = await listen(app, { host, port, upgrade });
    let closed: Promise<void> | undefined;
    const close = async () => {
      const endsAt = performance.now() + graceMs;
      closing.abort(new Error('The server is shutting down'));
      // Episodes first: a socket that closes would abandon its own.
      const ending = closeParts();
      sockets.close();
      await ending;
      await sessions.close();
      await listener.close(Math.max(0, endsAt - performance.now()));
    };
    return {
      url: listener.url,
      scenarios: served.choice.names,
      close() {
        closed ??= close();
        return closed;
      },
    };
  } catch (error) {
    await closeParts();
    throw error;
  }
}

interface Parts {
  readonly catalogue: Catalogue;
  readonly episodes: Episodes;
  readonly pool: EnvironmentPool;
}

async function toServed(
  options: OpenEnvServerOptions,
  { catalogue, episodes, pool }: Parts,
): Promise<ServedEnvironment> {
  const { environment, scenario, taskset: wanted, directory, models, logger } = options;
  const [name, target] = environment;
  const reserved = (await catalogue.tools(name)).filter((tool) => RESERVED_TOOL_NAMES.includes(tool.name));
  if (reserved.length > 0) {
    const names = reserved.map((tool) => tool.name).join(', ');
    throw new Error(
      `${name} has tools whose names OpenEnv keeps for itself: ${names}. Rename them, or leave them out.`,
    );
  }
  const taskset =
    wanted === undefined ? undefined : (await createTasksets({ directory, declared: catalogue }).load(wanted)).tasks;
  const scenarios = await catalogue.scenarios(name);
  return {
    name,
    catalogue,
    episodes,
    choice: new TaskChoice({
      catalogue,
      taskset,
      environment: name,
      scenarios,
      scenario,
      judge: models.harness.judge,
      warn: (line) => logger.warn(line),
    }),
    connect: async (signal) =>
      await pool.connect(target, { codeHash: await hashTargetCode(target).catch(() => null), signal }),
  };
}

function addSessionMetric(registry: Registry, sessions: OpenEnvSessions): void {
  new Gauge({
    name: 'proctor_openenv_sessions',
    help: 'Sessions that are open: sockets, and those of /mcp',
    registers: [registry],
    collect() {
      this.set(sessions.size);
    },
  });
}

function describe({ names }: TaskChoice): string {
  return `Scenarios: ${names.join(', ')}. Call submit_answer with the final answer: it ends the episode with its reward.`;
}
