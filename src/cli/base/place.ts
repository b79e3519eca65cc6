import { createServiceClient, type ServiceClient } from '../../client/service-client.ts';
import { resolveEnvironment } from '../../service/config/find-environments.ts';
import { loadProject } from '../../service/config/project.ts';
import type { Installation } from '../../service/runs/installation.ts';
import type { OpenService, OpenServiceOptions } from '../../service/runs/open-service.ts';
import { LEASE } from '../../store/queue/run-queue.ts';
import { UsageError } from './failure.ts';
import { createLogger } from './logger.ts';
import { findKey } from './service-key.ts';
import { startTelemetry } from './telemetry.ts';
import { note } from './terminal.ts';

export interface PlaceOptions extends Pick<OpenServiceOptions, 'plays' | 'hosts' | 'startTimeoutMs' | 'account'> {
  /** Address of a run service. Default: a service for this directory, inside this process. */
  readonly service?: string | undefined;
  /** Environment as typed. Without `service` it may also be the path of a module or a URL; then it is the only one. */
  readonly environment?: string | undefined;
  /** Spare processes of each environment, for the service of this directory. Default: none. */
  readonly spares?: number;
  /** Gets the log lines of the service of this directory. Default: standard error. */
  readonly write?: (line: string) => void;
}

/** The run service of a command. Client, options and errors are the same for a local and a remote one. */
export interface Place extends AsyncDisposable {
  readonly client: ServiceClient;
  /** Name of the environment at the service. Undefined if the command has none. */
  readonly environment: string | undefined;
  /** Address of the service. Undefined: the service of this directory. */
  readonly service: string | undefined;
  /** The service of this directory; undefined with `--service`. */
  readonly here: OpenService | undefined;
}

/** @throws UsageError for a service without a key, and for `--account` with a service; ApiError env_not_found. */
export async function openPlace({ service, environment, write, ...options }: PlaceOptions): Promise<Place> {
  if (service === undefined) return await openHere(environment, write, options);
  if (options.account !== undefined) {
    throw new UsageError('At a service the account is that of the key: leave --account out.');
  }
  const client = createServiceClient({ baseUrl: service, apiKey: findKey(await loadProject(), service) });
  return { client, environment, service, here: undefined, [Symbol.asyncDispose]: async () => {} };
}

async function openHere(
  typed: string | undefined,
  write: PlaceOptions['write'],
  options: Omit<OpenServiceOptions, 'logger'>,
): Promise<Place> {
  const { openInstallation } = await import('../../service/runs/installation.ts');
  const { openService } = await import('../../service/runs/open-service.ts');
  const installation = await openInstallation();
  const opened: AsyncDisposable[] = [installation];
  const close = async () => {
    for (const part of opened.toReversed()) await part[Symbol.asyncDispose]();
  };
  try {
    opened.push(await startTelemetry({ ...installation, warn: note }));
    const { environments: known, directory, redactor } = installation;
    const named =
      typed === undefined ? undefined : resolveEnvironment(typed, known, directory, installation.settings.sandbox);
    const environments = named === undefined ? known : new Map([[named.name, named.target]]);
    const logger = createLogger('error', redactor, write);
    const onTakenOver = (traceId: string) => note(describeTaken(installation, traceId));
    const here = await openService(installation, { ...options, environments, logger, onTakenOver });
    opened.push(here);
    const onTerminate = () => {
      here.shutDown();
      // A command that does not listen for stops yet ends at once, as it would without this handler.
      if (process.listenerCount('SIGTERM') === 0) process.kill(process.pid, 'SIGTERM');
    };
    process.once('SIGTERM', onTerminate);
    opened.push({ [Symbol.asyncDispose]: async () => void process.off('SIGTERM', onTerminate) });
    const { client } = here;
    return { client, environment: named?.name, service: undefined, here, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

function describeTaken({ settings }: Installation, traceId: string): string {
  const why = `this process did not renew its lease for ${LEASE.durationMs / 1_000} s`;
  return `Another worker of this database has taken the run over, because ${why}. It goes on there: ${settings.appUrl}/traces/${traceId}`;
}
