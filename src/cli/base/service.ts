import type { Logger } from 'pino';
import type { EnvironmentPool } from '../../environment/client/pool/environment-pool.ts';
import { type ScenarioServer, startScenarioServer } from '../../service/chat/start.ts';
import type { Installation } from '../../service/runs/installation.ts';
import { type RunService, startRunService } from '../../service/runs/start.ts';
import type { WorkerSettings } from '../../service/runs/worker/worker.ts';
import { guardedBy } from '../../store/accounts/guard.ts';
import { isPortTaken } from '../../support/http/listen.ts';
import { createPages } from '../../web/pages.ts';
import type { ServerPorts } from '../../web/playground-address.ts';

export interface ServiceOptions {
  readonly host: string;
  readonly port: number;
  /** Settings of the worker; false for none. Default: as many concurrent runs as cores. */
  readonly worker?: WorkerSettings | false;
  readonly logger: Logger;
  /** Ports of the pages and the playground, once this process serves both. */
  readonly ports?: () => ServerPorts | undefined;
}

/** Starts the run service with its worker and the pages, for `proctor serve` and `proctor demo`. */
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
  /** Pool that the run service uses too. Its creator closes it. */
  readonly pool?: EnvironmentPool;
}

/** Starts the scenario server beside a run service. It shares the keys and the pages of that service. */
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
