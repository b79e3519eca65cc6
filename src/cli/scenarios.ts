import type { Command } from 'commander';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import { resolveEnvironment } from '../config/find-environments.ts';
import { MAX_STEPS } from '../contract/names.ts';
import { assertModel, keyCheck } from '../scenario-server/serve-scenarios.ts';
import { startScenarioServer } from '../scenario-server/start.ts';
import { createPages } from '../web/pages.ts';
import { UsageError } from './failure.ts';
import { type Installation, openInstallation } from './installation.ts';
import { createLogger } from './logger.ts';
import { collect, parsePort, wholeNumber } from './options.ts';
import { listenForStop, untilStopped } from './signals.ts';
import { signedInAddress } from './signed-in-address.ts';
import { colors, note, print, printJson } from './terminal.ts';

export function addScenariosCommand(program: Command): void {
  program
    .command('scenarios')
    .description('Serve scenarios to any OpenAI-style chat client.')
    .option('--env <environment>', 'name, path or URL; repeatable (default: all of this directory)', collect)
    .option('--model <model>', 'plays where a session names none', 'proctor/oracle')
    .option('--port <port>', 'port to listen on (default 8321)', parsePort)
    .option('--host <host>', 'address to bind; beyond loopback only with --api-key', '127.0.0.1')
    .option('--api-key <key>', 'asked of every request (default: PROCTOR_SCENARIOS_API_KEY, or none)')
    .option(
      '--max-steps <count>',
      `model responses of a turn (default ${MAX_STEPS.default})`,
      wholeNumber(1, MAX_STEPS.maximum),
    )
    .option('--session-ttl-ms <ms>', 'idle time after which a session expires (default 1800000)', wholeNumber(1))
    .option('--max-sessions <count>', 'active at a time (default 1000)', wholeNumber(1))
    .option('--json', 'print one JSON object once it listens')
    .addHelpText(
      'after',
      `
A chat client names a scenario in its first request, continues by the session id, and finishes to get a reward:

  $ curl http://127.0.0.1:8321/v1/chat/completions -H 'content-type: application/json' \\
      -d '{"messages":[{"role":"user","content":"Go."}],"scenario":"count_to","scenario_args":{"target":3}}'
  $ curl -X POST http://127.0.0.1:8321/v1/sessions/<session_id>/finish

Examples:
  $ proctor scenarios --env counter
  $ PROCTOR_GATEWAY_URL=http://localhost:11434/v1 proctor scenarios --env counter --model qwen3`,
    )
    .action(serveScenarios);
}

interface ScenariosOptions {
  readonly env?: readonly string[];
  readonly model: string;
  readonly port?: number;
  readonly host: string;
  readonly apiKey?: string;
  readonly maxSteps?: number;
  readonly sessionTtlMs?: number;
  readonly maxSessions?: number;
  readonly json?: boolean;
}

async function serveScenarios(options: ScenariosOptions): Promise<void> {
  using stop = listenForStop(() => note('Stopping. Once more ends it at once.'));
  await using installation = await openInstallation();
  const { settings, database, store, accounts, models } = installation;
  assertModel(models, options.model);
  const environments = environmentsOf(installation, options.env);
  const apiKey = options.apiKey ?? textOf('PROCTOR_SCENARIOS_API_KEY');
  const server = await startScenarioServer({
    environments,
    database,
    store,
    models,
    model: options.model,
    host: options.host,
    port: options.port ?? settings.ports.scenarioServer,
    appUrl: settings.isAppUrlNamed ? settings.appUrl : undefined,
    allowedHosts: settings.allowedHosts,
    pages: createPages({ store, accounts }),
    logger: createLogger(process.stderr.isTTY ? 'warn' : 'info'),
    verifyKey: apiKey === undefined ? undefined : keyCheck(apiKey),
    maxSteps: options.maxSteps,
    sessionTtlMs: options.sessionTtlMs ?? numberOf('PROCTOR_SESSION_TTL_MS'),
    maxSessions: options.maxSessions,
  });
  try {
    const address = await signedInAddress(installation, { at: server.url });
    if (options.json) printJson({ url: server.url, address, environments: [...environments.keys()] });
    else {
      print(`${colors.bold('Scenario server')}  ${server.url}/v1`);
      print(`${colors.bold('Pages')}            ${address}`);
      print(`${colors.bold('Environments')}     ${[...environments.keys()].join(', ')}`);
      print(`${colors.bold('Model')}            ${options.model}`);
    }
    await untilStopped(stop.signal);
  } finally {
    await server.close();
  }
}

function environmentsOf(
  { environments, directory }: Installation,
  named: readonly string[] = [],
): ReadonlyMap<string, EnvironmentTarget> {
  if (named.length > 0) {
    const resolved = named.map((name) => resolveEnvironment(name, environments, directory));
    return new Map(resolved.map(({ name, target }) => [name, target]));
  }
  if (environments.size > 0) return environments;
  throw new UsageError('There are no environments in this directory: name one with --env <path|url>.');
}

function textOf(variable: string): string | undefined {
  const text = process.env[variable]?.trim();
  return text === '' ? undefined : text;
}

function numberOf(variable: string): number | undefined {
  const text = textOf(variable);
  return text === undefined ? undefined : wholeNumber(1)(text);
}
