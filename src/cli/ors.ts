import type { Command } from 'commander';
import { startOrsServer } from '../bridges/ors/start.ts';
import { openInstallation } from './installation.ts';
import { createLogger } from './logger.ts';
import { parsePort, wholeNumber } from './options.ts';
import { addPoolOptions, type PoolCommandOptions } from './pool-options.ts';
import { environmentsOf, fromVariable, parseKey, parseTtl } from './server-options.ts';
import { naming } from './service.ts';
import { listenForStop, untilStopped } from './signals.ts';
import { startTelemetry } from './telemetry.ts';
import { colors, note, print, printJson } from './terminal.ts';

const DEFAULT_PORT = 8080;

export function addOrsCommand(program: Command): void {
  const command = program
    .command('ors [environments...]')
    .description('Serve scenarios as environments of the Open Reward Standard (ORS).')
    .option('--taskset <name>', 'its tasks, in place of those that the scenarios declare')
    .option('--port <port>', `port to listen on (default ${DEFAULT_PORT})`, parsePort)
    .option('--host <host>', 'address to bind; beyond loopback only with --api-key', '127.0.0.1')
    .option('--api-key <key>', 'asked of every request (default: PROCTOR_ORS_API_KEY, or none)', parseKey)
    .option('--session-ttl-ms <ms>', 'idle time after which a session is ended (default 900000)', parseTtl)
    .option('--max-sessions <count>', 'active at a time (default 1000)', wholeNumber(1));
  addPoolOptions(command)
    .option('--json', 'print one JSON object once it listens')
    .addHelpText(
      'after',
      `
Environments are named by their names, paths or URLs; without any, all of this directory are served. Each scenario is an
environment of ORS, its tasks are in splits, and the tool submit_answer ends an episode with its reward.

Examples:
  $ proctor ors counter
  $ curl http://127.0.0.1:8080/list_environments`,
    )
    .action(serveOrs);
}

interface OrsOptions extends PoolCommandOptions {
  readonly taskset?: string;
  readonly port?: number;
  readonly host: string;
  readonly apiKey?: string;
  readonly sessionTtlMs?: number;
  readonly maxSessions?: number;
  readonly json?: boolean;
}

async function serveOrs(named: readonly string[], options: OrsOptions): Promise<void> {
  using stop = listenForStop(() => note('Stopping. Once more ends it at once.'));
  await using installation = await openInstallation();
  await using _telemetry = await startTelemetry({ ...installation, stop: stop.signal, warn: note });
  const { settings, database, store, models, redactor, directory } = installation;
  const starting = startOrsServer({
    ...options,
    environments: environmentsOf(installation, named, 'ors'),
    database,
    store,
    models,
    directory,
    port: options.port ?? DEFAULT_PORT,
    apiKey: options.apiKey ?? fromVariable('PROCTOR_ORS_API_KEY', parseKey),
    allowedHosts: settings.allowedHosts,
    logger: createLogger(process.stderr.isTTY ? 'warn' : 'info', redactor),
  });
  const server = await naming('--port', starting);
  try {
    if (options.json) printJson({ url: server.url, environments: server.names });
    else {
      print(`${colors.bold('ORS server')}    ${server.url}`);
      print(`${colors.bold('Environments')}  ${server.names.join(', ')}`);
    }
    await untilStopped(stop.signal);
  } finally {
    await server.close();
  }
}
