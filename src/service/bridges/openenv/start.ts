import { Gauge, type Registry } from 'prom-client';
import type { EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import { hashTargetCode } from '../../../environment/client/pool/module-hash.ts';
import { createTasksets } from '../../../evaluation/tasks/find-tasksets.ts';
import { storeCheck } from '../../../store/database/database.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../../../support/http/api/body.ts';
import { fixedKey } from '../../../support/http/api/fixed-key.ts';
import { createHttpApp } from '../../../support/http/app.ts';
import { createHealthRoutes } from '../../../support/http/health-routes.ts';
import { listen } from '../../../support/http/listen.ts';
import { assertBindAllowed } from '../../../support/http/origin-guard.ts';
import { createWebSockets } from '../../../support/http/web-sockets.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';
import { PROCTOR_VERSION } from '../../../support/runtime/version.ts';
import { type BridgeParts, createBridgeParts } from '../bridge-parts.ts';
import type { BridgeServerOptions } from '../bridge-server-options.ts';
import { RESERVED_TOOL_NAMES } from './messages.ts';
import { createOpenEnvRoutes, createRpcMount, toDetail } from './routes.ts';
import type { ServedEnvironment } from './session.ts';
import { OpenEnvSessions } from './sessions.ts';
import { OpenEnvSockets } from './sockets.ts';
import { TaskChoice } from './tasks.ts';
import { createToError } from './to-error.ts';

export interface OpenEnvServerOptions extends BridgeServerOptions {
  /** Configured name of the environment, and its target. */
  readonly environment: readonly [name: string, target: EnvironmentTarget];
  /** Short name of the scenario. Default: the only one; with several, `reset` names one. */
  readonly scenario?: string | undefined;
  /** For tests: milliseconds between two checks for idle sessions, and between two pings of a socket. */
  readonly timing?: { readonly lookEveryMs?: number; readonly pingEveryMs?: number } | undefined;
}

export interface OpenEnvServer {
  /** Address of the server, without a slash at the end. */
  readonly url: string;
  /** Short names of the scenarios that clients may ask for. */
  readonly scenarios: readonly string[];
  /**
   * Fails every session. Running evaluations may finish within the budget. The caller closes database and store.
   * Never rejects.
   */
  close(): Promise<void>;
}

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
  const closing = new AbortController();
  const lookEveryMs = options.timing?.lookEveryMs ?? PERIODS_MS.idleSessions;
  const parts = createBridgeParts(options, { origin: 'openenv', environments: new Map([environment]), lookEveryMs });
  const { metrics, maxSessions, sessionTtlMs, graceMs } = parts;
  try {
    const served = await toServed(options, parts);
    await parts.endOrphans();
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
      const ending = parts.close();
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
    await parts.close();
    throw error;
  }
}

async function toServed(
  options: OpenEnvServerOptions,
  { catalogue, episodes, pool }: BridgeParts,
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
