import type { Logger } from 'pino';
import { SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import type { Installation } from './installation.ts';
import { createService, type Service } from './service.ts';
import type { WorkerSettings } from './worker/worker.ts';
import { createWorkerPool } from './worker/worker-pool.ts';

export interface OpenServiceOptions extends Omit<WorkerSettings, 'pool'> {
  readonly logger: Logger;
  /** Environments that replace those of the project. */
  readonly environments?: ReadonlyMap<string, EnvironmentTarget>;
  /** `own` plays only the runs of its client, `queue` all queued ones. Default: no runs. */
  readonly plays?: 'own' | 'queue';
  /** Account of its client. Default `local`. */
  readonly account?: string | undefined;
  /** Names of environments in commands that a check reports. Default: the names of `environments`. */
  readonly typedNames?: ReadonlyMap<string, string> | undefined;
  /** Called when another worker has taken over a run that was played here. */
  readonly onTakenOver?: (traceId: string) => void;
}

/**
 * The run service of an installation without an address, for a program that is its only caller. Disposing leaves the
 * installation open.
 */
export interface OpenService extends Service, AsyncDisposable {
  readonly installation: Installation;
  /**
   * Listens on loopback for the agents of seats. The client opens seats afterwards.
   *
   * @param port 0 takes any free one. @throws Error for a port in use. Dispose of it before the service.
   */
  listenForSeats(port: number): Promise<AsyncDisposable>;
}

/** Milliseconds for replies that are being sent when the listener is closed. */
const LISTENER_GRACE_MS = 5_000;

/** Share of the SIGTERM budget for the service. The rest is for the output of its program and the database. */
const CLOSING_SHARE = 0.8;

/** Opens the service of an installation without an address. */
export async function openService(installation: Installation, options: OpenServiceOptions): Promise<OpenService> {
  const { plays, environments, logger, account, typedNames, onTakenOver, ...settings } = options;
  const service = createService({
    ...installation,
    environments: environments ?? installation.environments,
    appUrl: installation.settings.appUrl,
    // No spare processes: the program may end after this run.
    pool: createWorkerPool({ spares: 0, ...settings, logger }),
    closesPool: true,
    logger,
    playsOwnRuns: plays === 'own',
    allowsCommands: true,
    account,
    typedNames,
    onTakenOver,
    training: () => installation.training(),
  });
  // Runs of other environments are left to other workers.
  const onlyEnvironments = [...(environments ?? installation.environments).keys()];
  if (plays === 'queue') await service.startWorker({ ...settings, onlyEnvironments });
  return Object.assign(service, {
    installation,
    listenForSeats: (port: number) => listenForSeats(service, { port, logger }),
    [Symbol.asyncDispose]: () => service.close(SHUTDOWN_GRACE_MS.service * CLOSING_SHARE),
  });
}

async function listenForSeats(
  service: Service,
  { port, logger }: { readonly port: number; readonly logger: Logger },
): Promise<AsyncDisposable> {
  const { listenForSeats: listenAt } = await import('../../rollout/seats/loopback-listener.ts');
  const desk = await service.seats();
  const listener = await listenAt(desk.mounts, { port, logger });
  desk.serveAt(listener.url);
  return { [Symbol.asyncDispose]: () => listener.close(LISTENER_GRACE_MS) };
}
