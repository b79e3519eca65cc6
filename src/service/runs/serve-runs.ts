import { pino } from 'pino';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import type { GatewayClient } from '../../models/gateway/gateway-client.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import { createPages } from '../../web/pages.ts';
import { openInstallation } from './installation.ts';
import { type RunService, type RunServiceOptions, startRunService } from './start.ts';

export interface ServeRunsOptions extends Pick<RunServiceOptions, 'allowedHosts' | 'worker' | 'shutdownGraceMs'> {
  /**
   * Project directory with `proctor.config.ts`, `.env`, `environments` and `tasksets`. Default: the working
   * directory.
   */
  readonly directory?: string;
  /** Environments by name. They replace those of the project. */
  readonly environments?: Readonly<Record<string, EnvironmentTarget>>;
  /**
   * An `openai` client, or any object with its `chat.completions.create`. It replaces the gateways of the project.
   * Reference models (`proctor/…`) need no client.
   */
  readonly client?: GatewayClient;
  /** Database of runs and traces: `sqlite:<path>` or `postgres://…`. Default: the project's. */
  readonly store?: string;
  /** Port from 1 to 65535, since addresses of traces contain it. Default: the project's, else 8320. */
  readonly port?: number;
  /** Bind address. Default 127.0.0.1. Any other than loopback requires an existing key. */
  readonly host?: string;
  /** Gets each log line as a JSON text, without the secrets of the project. Default: no log. */
  readonly log?: (line: string) => void;
}

export interface ServedRuns extends RunService {
  /** Creates and revokes keys for other programs. */
  readonly accounts: Accounts;
}

/**
 * Serves the run service of a project with its pages and a worker, like `proctor serve`, until the handle is closed.
 * Its `client` needs no key.
 *
 * @throws Error with a way out for an invalid configuration, a database that cannot be opened, a port in use, and a
 * bind beyond loopback without a key.
 * @example
 * ```ts
 * const service = await serveRuns({ directory, port, store: `sqlite:${directory}/runs.db` });
 * try {
 *   const { reward } = await service.client.runs.create(
 *     { env_name: 'counter', scenario_name: 'count_to', scenario_args: { target: 3 }, model: 'proctor/oracle' },
 *     { waitSeconds: 60 },
 *   );
 *   return reward ?? null;
 * } finally {
 *   await service.close();
 * }
 * ```
 */
export async function serveRuns(options: ServeRunsOptions = {}): Promise<ServedRuns> {
  const { directory, environments, client, store, port, host = '127.0.0.1', log = () => {}, ...rest } = options;
  if (port === 0) throw new TypeError('serveRuns needs a port of 1 to 65535: the addresses of traces have it.');
  const named = environments && new Map(Object.entries(environments));
  const installation = await openInstallation({ directory, port, environments: named, client, databaseUrl: store });
  const { settings, accounts, database, redactor } = installation;
  try {
    const service = await startRunService({
      ...installation,
      ...rest,
      host,
      port: settings.ports.runService,
      appUrl: settings.appUrl,
      advertiseUrl: settings.advertiseUrl,
      allowedHosts: rest.allowedHosts ?? settings.allowedHosts,
      logger: pino({ hooks: { streamWrite: (line: string) => redactor.text(line) } }, { write: log }),
      pages: createPages({ store: installation.store, accounts, database }),
    });
    return { ...service, accounts, close: closingAlso(service, installation) };
  } catch (error) {
    await installation[Symbol.asyncDispose]();
    throw error;
  }
}

function closingAlso(service: RunService, installation: AsyncDisposable): () => Promise<void> {
  let closed: Promise<void> | undefined;
  return () => {
    closed ??= service.close().then(() => installation[Symbol.asyncDispose]());
    return closed;
  };
}
