import type { Command } from 'commander';
import { startOpenEnvServer } from '../bridges/openenv/start.ts';
import { openInstallation } from './installation.ts';
import { createLogger } from './logger.ts';
import { parsePort, wholeNumber } from './options.ts';
import { addPoolOptions, type PoolCommandOptions } from './pool-options.ts';
import { environmentsOf, fromVariable, parseKey, parseTtl } from './server-options.ts';
import { naming } from './service.ts';
import { listenForStop, untilStopped } from './signals.ts';
import { startTelemetry } from './telemetry.ts';
import { colors, note, print, printJson } from './terminal.ts';

const DEFAULT_PORT = 8000;

export function addOpenEnvCommand(program: Command): void {
  const command = program
    .command('openenv <environment>')
    .description('Serve an environment to clients of OpenEnv.')
    .option('--scenario <name>', 'the scenario that episodes play (default: the only one, or the one that reset names)')
    .option('--taskset <name>', 'its tasks, in place of those that the scenarios declare')
    .option('--port <port>', `port to listen on (default ${DEFAULT_PORT})`, parsePort)
    .option('--host <host>', 'address to bind; beyond loopback only with --api-key', '127.0.0.1')
    .option(
      '--api-key <key>',
      'asked of every request and socket (default: PROCTOR_OPENENV_API_KEY, or none)',
      parseKey,
    )
    .option('--session-ttl-ms <ms>', 'time without a message after which a session is ended (default 900000)', parseTtl)
    .option('--max-sessions <count>', 'open at a time (default 1000)', wholeNumber(1));
  addPoolOptions(command)
    .option('--json', 'print one JSON object once it listens')
    .addHelpText(
      'after',
      `
The environment is named by its name, path or URL. Clients play episodes over the socket at /ws: reset begins one, step
calls a tool, and the tool submit_answer ends it with its reward.

Examples:
  $ proctor openenv counter --scenario count_to
  $ curl http://127.0.0.1:8000/schema`,
    )
    .action(serveOpenEnv);
}

interface OpenEnvOptions extends PoolCommandOptions {
  readonly scenario?: string;
  readonly taskset?: string;
  readonly port?: number;
  readonly host: string;
  readonly apiKey?: string;
  readonly sessionTtlMs?: number;
  readonly maxSessions?: number;
  readonly json?: boolean;
}

async function serveOpenEnv(named: string, options: OpenEnvOptions): Promise<void> {
  using stop = listenForStop(() => note('Stopping. Once more ends it at once.'));
  await using installation = await openInstallation();
  await using _telemetry = await startTelemetry({ ...installation, stop: stop.signal, warn: note });
  const { settings, database, store, models, redactor, directory } = installation;
  const [environment] = environmentsOf(installation, [named], 'openenv');
  if (environment === undefined) return;
  const starting = startOpenEnvServer({
    ...options,
    environment,
    database,
    store,
    models,
    directory,
    port: options.port ?? DEFAULT_PORT,
    apiKey: options.apiKey ?? fromVariable('PROCTOR_OPENENV_API_KEY', parseKey),
    allowedHosts: settings.allowedHosts,
    logger: createLogger(process.stderr.isTTY ? 'warn' : 'info', redactor),
  });
  const server = await naming('--port', starting);
  try {
    const [name] = environment;
    if (options.json) printJson({ url: server.url, environment: name, scenarios: server.scenarios });
    else {
      print(`${colors.bold('OpenEnv server')}  ${server.url}`);
      print(`${colors.bold('Environment')}     ${name}`);
      print(`${colors.bold('Scenarios')}       ${server.scenarios.join(', ')}`);
    }
    await untilStopped(stop.signal);
  } finally {
    await server.close();
  }
}
