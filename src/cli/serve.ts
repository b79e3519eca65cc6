import type { Command } from 'commander';
import type { Logger } from 'pino';
import { EnvironmentPool } from '../client/environment-pool.ts';
import type { RunService } from '../run-service/start.ts';
import { DEFAULT_SPARES, SPARE_LIFE_MS } from '../run-service/worker.ts';
import { DEFAULT_WARM_PROCESSES, type ScenarioServer } from '../scenario-server/start.ts';
import type { ServerPorts } from '../web/playground-address.ts';
import { endOrphanProcesses } from './end-orphans.ts';
import { type Installation, openInstallation } from './installation.ts';
import { ensureLocalKey, localKeyFile, readKey } from './local-key.ts';
import { createLogger } from './logger.ts';
import { parsePort } from './options.ts';
import { naming, startScenarios, startService } from './service.ts';
import { shownAddress } from './shown-address.ts';
import { listenForStop, untilStopped } from './signals.ts';
import { signedInAddress } from './signed-in-address.ts';
import { startTelemetry } from './telemetry.ts';
import { colors, note, print, printJson } from './terminal.ts';
import { addWorkerOptions, toWorkerSettings, type WorkerCommandOptions } from './worker-options.ts';

export function addServeCommand(program: Command): void {
  const command = program
    .command('serve')
    .description('Serve the run service, the trace pages and the scenario server, and execute runs.')
    .option('--host <host>', 'address to bind; beyond loopback only where there is a key of your own', '127.0.0.1')
    .option('--port <port>', 'port of the run service (default 8320)', parsePort)
    .option('--scenario-port <port>', 'port of the scenario server (default 8321)', parsePort)
    .option('--model <model>', 'the model of chat sessions that name none', 'proctor/oracle')
    .option('--no-worker', 'accept runs and execute none: "proctor worker" does');
  addWorkerOptions(command)
    .option('--json', 'print one JSON object once it listens')
    .addHelpText(
      'after',
      `
On a first start a key is made and kept in .proctor/key, of another database than the default one in a file of its own in
.proctor/keys. The address of the pages signs a browser in, once.
SIGTERM and Ctrl-C stop it in order, exit code 0: runs that go on return to the queue, and the next start finishes them.

Examples:
  $ proctor serve
  $ proctor serve --port 9000 --concurrency 8
  $ PROCTOR_DATABASE_URL=postgres://proctor@db.example/proctor proctor serve --no-worker
  $ PROCTOR_GATEWAY_URL=http://localhost:11434/v1 proctor serve`,
    )
    .action(serve);
}

interface ServeOptions extends WorkerCommandOptions {
  readonly host: string;
  readonly port?: number;
  readonly scenarioPort?: number;
  readonly model: string;
  readonly worker: boolean;
  readonly json?: boolean;
}

interface Servers {
  readonly service: RunService;
  readonly scenarios: ScenarioServer;
}

async function serve(options: ServeOptions): Promise<void> {
  using stop = listenForStop(() => note('Stopping. Once more ends it at once.'));
  await using installation = await openInstallation(options.port === undefined ? {} : { port: options.port });
  await using _telemetry = await startTelemetry({ ...installation, stop: stop.signal, warn: note });
  await ensureLocalKey(installation, options.host);
  const logger = createLogger(process.stderr.isTTY ? 'warn' : 'info', installation.redactor);
  const pool = createPool(options, logger);
  const servers = await startServers(installation, { ...options, pool }, logger);
  const clearing = endOrphanProcesses(stop.signal, logger);
  try {
    await announce(installation, servers, options);
    await untilStopped(stop.signal);
  } finally {
    await Promise.all([servers.service.close(), servers.scenarios.close(), clearing]);
    await pool.close();
  }
}

/** Runs and chat sessions share their processes. */
function createPool({ spares, hosts, startTimeoutMs }: ServeOptions, logger: Logger): EnvironmentPool {
  return new EnvironmentPool({
    perEnvironment: Math.max(spares ?? DEFAULT_SPARES, DEFAULT_WARM_PROCESSES),
    idleMs: SPARE_LIFE_MS,
    hosts,
    startTimeoutMs,
    report: (line) => logger.warn(line),
  });
}

/** The run service first: it refuses an address beyond loopback where there is no key of one's own. */
async function startServers(
  installation: Installation,
  options: ServeOptions & { readonly pool: EnvironmentPool },
  logger: Logger,
): Promise<Servers> {
  const { host, model, pool } = options;
  const { environments, settings } = installation;
  const { ports } = settings;
  const worker = options.worker && { ...toWorkerSettings(options, environments), pool };
  let listening: ServerPorts | undefined;
  const starting = startService(installation, {
    host,
    port: ports.runService,
    logger,
    worker,
    ports: () => listening,
  });
  const service = await naming('--port', starting);
  const port = options.scenarioPort ?? ports.scenarioServer;
  try {
    const scenarios = await naming(
      '--scenario-port',
      startScenarios(installation, { host, port, model, logger, pool }),
    );
    listening = { pages: service.port, playground: scenarios.port };
    return { service, scenarios };
  } catch (error) {
    await service.close();
    throw error;
  }
}

async function announce(
  installation: Installation,
  { service, scenarios }: Servers,
  { json, worker }: ServeOptions,
): Promise<void> {
  const address = await signedInAddress(installation);
  const environments = [...installation.environments.keys()];
  const keyFile = readKey(installation) === undefined ? null : localKeyFile(installation);
  if (json) {
    printJson({ url: service.url, scenarios_url: scenarios.url, address, environments, key_file: keyFile });
    return;
  }
  print(`${colors.bold('Run service')}   ${service.url}`);
  print(`${colors.bold('Scenarios')}     ${scenarios.url}/v1`);
  print(`${colors.bold('Pages')}         ${address}`);
  print(`${colors.bold('Playground')}    ${await signedInAddress(installation, { at: scenarios.url })}`);
  print(`${colors.bold('Environments')}  ${environments.join(', ') || 'none found under environments/'}`);
  print(`${colors.bold('Database')}      ${shownAddress(installation.settings.databaseUrl)}`);
  if (keyFile !== null) print(`${colors.bold('Key')}           in ${keyFile}`);
  if (!worker)
    print(`${colors.bold('Worker')}        none here: runs wait until a "proctor worker" of this database takes them`);
}
