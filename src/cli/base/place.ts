import { createServiceClient, type ServiceClient } from '../../client/service-client.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import { type NamedEnvironment, resolveEnvironment } from '../../service/config/find-environments.ts';
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
  /** Several environments as typed, in place of `environment`. */
  readonly environments?: readonly string[] | undefined;
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
  /** Names of the environments at the service, as many as were typed. */
  readonly environments: readonly string[];
  /** Address of the service. Undefined: the service of this directory. */
  readonly service: string | undefined;
  /** The service of this directory; undefined with `--service`. */
  readonly here: OpenService | undefined;
}

/**
 * @throws UsageError for a service without a key, and for `--account` or a file with a service; ApiError
 * env_not_found.
 */
export async function openPlace(given: PlaceOptions): Promise<Place> {
  const { service, environment, environments: several, write, ...options } = given;
  const typed = several ?? (environment === undefined ? [] : [environment]);
  if (service === undefined) return await openHere(typed, write, options);
  if (options.account !== undefined) {
    throw new UsageError('At a service the account is that of the key: leave --account out.');
  }
  for (const name of typed) refuseFile(name);
  const client = createServiceClient({ baseUrl: service, apiKey: findKey(await loadProject(), service) });
  const [first] = typed;
  return {
    client,
    environment: first,
    environments: typed,
    service,
    here: undefined,
    [Symbol.asyncDispose]: async () => {},
  };
}

/** @throws UsageError */
function refuseFile(typed: string): void {
  if (!/^(\.{0,2}\/|\.{1,2}$|~|https?:\/\/)/i.test(typed)) return;
  throw new UsageError(
    `At a service an environment is named, and ${JSON.stringify(typed)} is a path or an address: take a name of its list of environments.`,
  );
}

async function openHere(
  typed: readonly string[],
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
    const { sandbox } = installation.settings;
    const named = typed.map((name) => ({ typed: name, ...resolveEnvironment(name, known, directory, sandbox) }));
    refuseNamesakes(named);
    const environments = named.length === 0 ? known : new Map(named.map(({ name, target }) => [name, target]));
    const typedNames = new Map(named.map(({ name, typed: as }) => [name, as]));
    const logger = createLogger('error', redactor, write);
    const onTakenOver = (traceId: string) => note(describeTaken(installation, traceId));
    const here = await openService(installation, { ...options, environments, typedNames, logger, onTakenOver });
    opened.push(here);
    const onTerminate = () => {
      here.shutDown();
      // A command that does not listen for stops yet ends at once, as it would without this handler.
      if (process.listenerCount('SIGTERM') === 0) process.kill(process.pid, 'SIGTERM');
    };
    process.once('SIGTERM', onTerminate);
    opened.push({ [Symbol.asyncDispose]: async () => void process.off('SIGTERM', onTerminate) });
    const { client } = here;
    const names = named.map(({ name }) => name);
    const [first] = names;
    return {
      client,
      environment: first,
      environments: names,
      service: undefined,
      here,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @throws UsageError for two modules with one name. */
function refuseNamesakes(named: readonly (NamedEnvironment & { readonly typed: string })[]): void {
  for (const [index, { typed, name, target }] of named.entries()) {
    const other = named.slice(0, index).find((each) => each.name === name);
    if (other === undefined || isSame(other.target, target)) continue;
    throw new UsageError(`${other.typed} and ${typed} are both named ${name}: take one of them at a time.`);
  }
}

function isSame(one: EnvironmentTarget, other: EnvironmentTarget): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function describeTaken({ settings }: Installation, traceId: string): string {
  const why = `this process did not renew its lease for ${LEASE.durationMs / 1_000} s`;
  return `Another worker of this database has taken the run over, because ${why}. It goes on there: ${settings.appUrl}/traces/${traceId}`;
}
