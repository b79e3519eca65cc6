import type { Command } from 'commander';
import type { Logger } from 'pino';
import { EnvironmentPool } from '../../environment/client/pool/environment-pool.ts';
import { DEFAULT_WARM_PROCESSES, type ScenarioServer } from '../../service/chat/start.ts';
import { type Installation, openInstallation } from '../../service/runs/installation.ts';
import type { RunService } from '../../service/runs/start.ts';
import { DEFAULT_SPARES, SPARE_LIFE_MS } from '../../service/runs/worker/worker-pool.ts';
import type { ServerPorts } from '../../web/playground-address.ts';
import { ensureLocalKey, localKeyFile, readKey } from '../base/local-key.ts';
import { createLogger } from '../base/logger.ts';
import { parsePort } from '../base/options.ts';
import { naming, startScenarios, startService } from '../base/service.ts';
import { shownAddress } from '../base/shown-address.ts';
import { listenForStop, untilStopped } from '../base/signals.ts';
import { signedInAddress } from '../base/signed-in-address.ts';
import { startTelemetry } from '../base/telemetry.ts';
import { colors, note, print, printable, printJson } from '../base/terminal.ts';
import { endOrphanProcesses } from './end-orphans.ts';
import { addWorkerOptions, toWorkerSettings, type WorkerCommandOptions } from './worker-options.ts';

export function addServeCommand(program: Command): void {
  const command = program
    .command('serve')
    .description('Serve the run service, the pages and the scenario server, and execute runs.')
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
    // Errors are ignored, since the service may be closing.
    if (!options.json) void nameBroken(servers.service).catch(() => {});
    await untilStopped(stop.signal);
  } finally {
    await Promise.all([servers.service.close(), servers.scenarios.close(), clearing]);
    await pool.close();
  }
}

/** Creates the pool that runs and chat sessions share. */
function createPool({ spares, hosts, startTimeoutMs }: ServeOptions, logger: Logger): EnvironmentPool {
  return new EnvironmentPool({
    perEnvironment: Math.max(spares ?? DEFAULT_SPARES, DEFAULT_WARM_PROCESSES),
    idleMs: SPARE_LIFE_MS,
    hosts,
    startTimeoutMs,
    report: (line) => logger.warn(line),
  });
}

/** Starts the run service first, since it refuses an address beyond loopback without a key. */
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

/** Prints environments that cannot start, or whose scenarios will fail, after all were read. */
async function nameBroken({ client }: Pick<RunService, 'client'>): Promise<void> {
  for (const environment of (await client.environments.list()).data) {
    const { name } = environment;
    if (environment.state === 'failed')
      note(colors.yellow(`${name} cannot be started: ${printable(environment.reason, MAX_REASON)}`));
    else for (const warning of environment.warnings) note(colors.yellow(`${name}: ${printable(warning, MAX_REASON)}`));
  }
}

const MAX_REASON = 1_000;

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
