import { createCatalogue } from '../../client/catalogue.ts';
import type { EnvironmentTarget } from '../../client/environment-client.ts';
import { EnvironmentPool } from '../../client/environment-pool.ts';
import { addPoolMetrics } from '../../client/pool-metrics.ts';
import type { ApiError } from '../../contract/errors.ts';
import { SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import { storeCheck } from '../../database/database.ts';
import { createHttpApp } from '../../http/app.ts';
import { fixedKey } from '../../http/fixed-key.ts';
import { createHealthRoutes } from '../../http/health-routes.ts';
import { listen } from '../../http/listen.ts';
import { createHttpMetrics } from '../../http/metrics.ts';
import { assertBindAllowed } from '../../http/origin-guard.ts';
import { PROCTOR_VERSION } from '../../runtime/version.ts';
import { createTasksets } from '../../tasks/find-tasksets.ts';
import type { BridgeServerOptions } from '../bridge-server-options.ts';
import { Episodes } from '../episodes.ts';
import { listOrsEnvironments, OrsTasks } from './environments.ts';
import { createOrsRoutes, toDefaultEnvironment } from './routes.ts';
import { OrsSessions } from './sessions.ts';

export interface OrsServerOptions extends BridgeServerOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  /** For tests: milliseconds between two looks at who is idle, and between two signs of life of a call; calls of an episode. */
  readonly limits?:
    | { readonly lookEveryMs?: number; readonly heartbeatMs?: number; readonly maxCalls?: number }
    | undefined;
}

export interface OrsServer {
  /** Without a slash at the end. */
  readonly url: string;
  /** Names of the environments as the protocol has them. */
  readonly names: readonly string[];
  /** Ends every session as failed; evaluations that go on may end within the budget. Database and store are closed by their owner. Never rejects. */
  close(): Promise<void>;
}

const DEFAULTS = { maxSessions: 1_000, sessionTtlMs: 15 * 60_000 } as const;
/** Share of the budget for evaluations that go on. */
const PATIENT_SHARE = 0.45;

/**
 * Serves scenarios as environments of the Open Reward Standard (contract section 11).
 *
 * @throws Error that says what to do: for scenarios that would have one name, none that can be played, a port in use, and a
 *   bind elsewhere than loopback without a key; ApiError taskset_not_found; BoundaryError for an environment that cannot be started.
 */
export async function startOrsServer(options: OrsServerOptions): Promise<OrsServer> {
  const { host, port, database, logger, apiKey } = options;
  assertBindAllowed(host, apiKey !== undefined, 'give one with --api-key or PROCTOR_ORS_API_KEY');
  const { maxSessions = DEFAULTS.maxSessions, sessionTtlMs = DEFAULTS.sessionTtlMs } = options;
  const graceMs = options.shutdownGraceMs ?? SHUTDOWN_GRACE_MS.service;
  const pool = new EnvironmentPool({
    perEnvironment: 0,
    hosts: options.hosts,
    startTimeoutMs: options.startTimeoutMs,
    report: (line) => logger.warn(line),
  });
  const catalogue = createCatalogue(options.environments, { connect: (target, how) => pool.read(target, how) });
  const closing = new AbortController();
  const episodes = new Episodes({ ...options, ...options.limits, origin: 'ors', pool, maxSessions, sessionTtlMs });
  const metrics = createHttpMetrics();
  const stopMetrics = addPoolMetrics(metrics.registry, pool, options.environments);
  const closeParts = async () => {
    await episodes.close(graceMs * PATIENT_SHARE);
    await Promise.all([catalogue.close(), pool.close()]);
    stopMetrics();
  };
  try {
    const { directory, taskset } = options;
    const given =
      taskset === undefined
        ? undefined
        : (await createTasksets({ directory, declared: catalogue }).load(taskset)).tasks;
    const { judge } = options.models.harness;
    const listed = await listOrsEnvironments(catalogue, { judge, warn: (line) => logger.warn(line) });
    const environments = new Map(listed.map((environment) => [environment.name, environment]));
    const failed = await episodes.endOrphans();
    if (failed > 0) logger.warn({ sessions: failed }, 'Sessions of a server that is gone were ended as failed');
    const app = createHttpApp({
      title: 'Proctor ORS server',
      version: PROCTOR_VERSION,
      host,
      allowedHosts: options.allowedHosts ?? [],
      logger,
      ...fixedKey(apiKey, '--api-key or PROCTOR_ORS_API_KEY'),
      keyHeader: 'x-api-key',
      closing: closing.signal,
      observe: metrics.observe,
      toErrorBody: (error: ApiError) => ({ detail: error.message }),
      answerUnknown: (url) => toDefaultEnvironment(environments, url),
      routes: [
        ...createOrsRoutes({
          environments,
          catalogue,
          tasks: new OrsTasks({ catalogue, taskset: given }),
          sessions: new OrsSessions(episodes, maxSessions),
          heartbeatMs: options.limits?.heartbeatMs,
        }),
        ...createHealthRoutes({ checks: [storeCheck(database)], closing: closing.signal }),
        metrics.route,
      ],
    });
    const listener = await listen(app, { host, port });
    let closed: Promise<void> | undefined;
    const close = async () => {
      const endsAt = performance.now() + graceMs;
      closing.abort(new Error('The server is shutting down'));
      await closeParts();
      await listener.close(Math.max(0, endsAt - performance.now()));
    };
    return {
      url: listener.url,
      names: [...environments.keys()],
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
