import type { Logger } from 'pino';
import { guardedBy } from '../accounts/guard.ts';
import type { EnvironmentPool } from '../client/environment-pool.ts';
import { isPortTaken } from '../http/listen.ts';
import { type RunService, startRunService } from '../run-service/start.ts';
import type { WorkerSettings } from '../run-service/worker.ts';
import { type ScenarioServer, startScenarioServer } from '../scenario-server/start.ts';
import { createPages } from '../web/pages.ts';
import type { ServerPorts } from '../web/playground-address.ts';
import type { Installation } from './installation.ts';

export interface ServiceOptions {
  readonly host: string;
  readonly port: number;
  /** How runs are executed here; false: not at all. Default: as many at once as there are cores. */
  readonly worker?: WorkerSettings | false;
  readonly logger: Logger;
  /** Where this process serves the pages and the playground, once it does both. */
  readonly ports?: () => ServerPorts | undefined;
}

/** The run service with its worker and the pages, as `proctor serve` and `proctor demo` start it. */
export async function startService(installation: Installation, options: ServiceOptions): Promise<RunService> {
  const { store, accounts, database, settings } = installation;
  return await startRunService({
    ...installation,
    ...options,
    appUrl: settings.appUrl,
    advertiseUrl: settings.advertiseUrl,
    allowedHosts: settings.allowedHosts,
    pages: createPages({ store, accounts, database, ...(options.ports && { ports: options.ports }) }),
  });
}

/** Waits for a start. If its port is taken, the error names the option that sets another one. */
export async function naming<Server>(option: string, starting: Promise<Server>): Promise<Server> {
  try {
    return await starting;
  } catch (error) {
    if (!isPortTaken(error)) throw error;
    throw new Error(`${error.message.replace(/\.$/, '')} with ${option}.`);
  }
}

export interface ScenariosOptions {
  readonly host: string;
  readonly port: number;
  /** Default model of sessions. */
  readonly model: string;
  readonly logger: Logger;
  /** Processes that the run service uses too. Its maker closes it. */
  readonly pool?: EnvironmentPool;
}

/** The scenario server beside a run service: the same keys, and the pages of that one. */
export async function startScenarios(installation: Installation, options: ScenariosOptions): Promise<ScenarioServer> {
  const { accounts, settings } = installation;
  return await startScenarioServer({
    ...installation,
    ...options,
    appUrl: settings.appUrl,
    allowedHosts: settings.allowedHosts,
    ...guardedBy(accounts),
  });
}
