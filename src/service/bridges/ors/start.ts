import type { ApiError } from '../../../contract/errors.ts';
import type { EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import { createTasksets } from '../../../evaluation/tasks/find-tasksets.ts';
import { storeCheck } from '../../../store/database/database.ts';
import { fixedKey } from '../../../support/http/api/fixed-key.ts';
import { createHttpApp } from '../../../support/http/app.ts';
import { createHealthRoutes } from '../../../support/http/health-routes.ts';
import { listen } from '../../../support/http/listen.ts';
import { assertBindAllowed } from '../../../support/http/origin-guard.ts';
import { PROCTOR_VERSION } from '../../../support/runtime/version.ts';
import { createBridgeParts } from '../bridge-parts.ts';
import type { BridgeServerOptions } from '../bridge-server-options.ts';
import { listOrsEnvironments, OrsTasks } from './environments.ts';
import { createOrsRoutes, toDefaultEnvironment } from './routes.ts';
import { OrsSessions } from './sessions.ts';

export interface OrsServerOptions extends BridgeServerOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  /** For tests: milliseconds between two idle checks and between two heartbeats of a call; most calls of an episode. */
  readonly limits?:
    | { readonly lookEveryMs?: number; readonly heartbeatMs?: number; readonly maxCalls?: number }
    | undefined;
}

export interface OrsServer {
  /** Address of the server, without a slash at the end. */
  readonly url: string;
  /** Names of the environments in the protocol. */
  readonly names: readonly string[];
  /**
   * Fails every session. Running evaluations may finish within the budget. The caller closes database and store.
   * Never rejects.
   */
  close(): Promise<void>;
}

/**
 * Serves scenarios as environments of the Open Reward Standard (contract section 11).
 *
 * @throws Error that says what to do: for scenarios that would have one name, none that can be played, a port in use, and a
 *   bind elsewhere than loopback without a key; ApiError taskset_not_found; BoundaryError for an environment that cannot be started.
 */
export async function startOrsServer(options: OrsServerOptions): Promise<OrsServer> {
  const { host, port, database, logger, apiKey } = options;
  assertBindAllowed(host, apiKey !== undefined, 'give one with --api-key or PROCTOR_ORS_API_KEY');
  const closing = new AbortController();
  const { environments: targets, limits } = options;
  const parts = createBridgeParts(options, { ...limits, origin: 'ors', environments: targets });
  const { catalogue, episodes, metrics, maxSessions, graceMs } = parts;
  try {
    const { directory, taskset } = options;
    const given =
      taskset === undefined
        ? undefined
        : (await createTasksets({ directory, declared: catalogue }).load(taskset)).tasks;
    const { judge } = options.models.harness;
    const listed = await listOrsEnvironments(catalogue, { judge, warn: (line) => logger.warn(line) });
    const environments = new Map(listed.map((environment) => [environment.name, environment]));
    await parts.endOrphans();
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
      await parts.close();
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
    await parts.close();
    throw error;
  }
}
