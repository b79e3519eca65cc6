import type { Command } from 'commander';
import { MAX_STEPS } from '../../contract/names.ts';
import { MAX_WARM_PROCESSES } from '../../service/chat/option-ranges.ts';
import { assertModel, guardedByKey } from '../../service/chat/serve-scenarios.ts';
import { startAlone } from '../../service/chat/start-alone.ts';
import { openInstallation } from '../../service/runs/installation.ts';
import { createLogger } from '../base/logger.ts';
import { collect, parsePort, wholeNumber } from '../base/options.ts';
import { addPoolOptions, type PoolCommandOptions } from '../base/pool-options.ts';
import { environmentsOf, fromVariable, parseKey, parseTtl } from '../base/server-options.ts';
import { naming } from '../base/service.ts';
import { listenForStop, untilStopped } from '../base/signals.ts';
import { signedInAddress } from '../base/signed-in-address.ts';
import { startTelemetry } from '../base/telemetry.ts';
import { colors, note, print, printJson } from '../base/terminal.ts';

export function addScenariosCommand(program: Command): void {
  const command = program
    .command('scenarios [environments...]')
    .description('Serve scenarios to OpenAI-style chat clients.')
    .option('--env <environment>', 'name, path or URL, as without --env; may be repeated', collect)
    .option('--model <model>', 'the model of sessions that name none', 'proctor/oracle')
    .option('--port <port>', 'port to listen on (default 8321)', parsePort)
    .option('--host <host>', 'address to bind; beyond loopback only with --api-key', '127.0.0.1')
    .option('--api-key <key>', 'asked of every request (default: PROCTOR_SCENARIOS_API_KEY, or none)', parseKey)
    .option(
      '--max-steps <count>',
      `model responses of a turn (default ${MAX_STEPS.default})`,
      wholeNumber(1, MAX_STEPS.maximum),
    )
    .option(
      '--session-ttl-ms <ms>',
      'idle time after which a session expires (default: PROCTOR_SESSION_TTL_MS, or 1800000)',
      parseTtl,
    )
    .option('--max-sessions <count>', 'active at a time (default 1000)', wholeNumber(1))
    .option(
      '--warm <count>',
      'processes of each environment that wait for sessions, from the start (default: 2, once it was used; 0: none)',
      wholeNumber(0, MAX_WARM_PROCESSES),
    );
  addPoolOptions(command)
    .option('--json', 'print one JSON object once it listens')
    .addHelpText(
      'after',
      `
Environments are named by their names, paths or URLs; without any, all of this directory are served.
A chat client names a scenario in its first request, continues by the session id, and finishes to get a reward:

  $ curl http://127.0.0.1:8321/v1/chat/completions -H 'content-type: application/json' \\
      -d '{"messages":[{"role":"user","content":"Go."}],"scenario":"count_to","scenario_args":{"target":3}}'
  $ curl -X POST http://127.0.0.1:8321/v1/sessions/<session_id>/finish

Examples:
  $ proctor scenarios counter
  $ PROCTOR_GATEWAY_URL=http://localhost:11434/v1 proctor scenarios --env counter --model qwen3`,
    )
    .action(serveScenarios);
}

interface ScenariosOptions extends PoolCommandOptions {
  readonly env?: readonly string[];
  readonly model: string;
  readonly port?: number;
  readonly host: string;
  readonly apiKey?: string;
  readonly maxSteps?: number;
  readonly sessionTtlMs?: number;
  readonly maxSessions?: number;
  readonly warm?: number;
  readonly json?: boolean;
}

async function serveScenarios(named: readonly string[], options: ScenariosOptions): Promise<void> {
  using stop = listenForStop(() => note('Stopping. Once more ends it at once.'));
  await using installation = await openInstallation();
  await using _telemetry = await startTelemetry({ ...installation, stop: stop.signal, warn: note });
  const { settings, database, accounts, models, redactor } = installation;
  assertModel(models, options.model);
  const environments = environmentsOf(installation, [...named, ...(options.env ?? [])], 'scenarios');
  const apiKey = options.apiKey ?? fromVariable('PROCTOR_SCENARIOS_API_KEY', parseKey);
  const starting = startAlone({
    environments,
    database,
    models,
    model: options.model,
    host: options.host,
    port: options.port ?? settings.ports.scenarioServer,
    appUrl: settings.isAppUrlNamed ? settings.appUrl : undefined,
    allowedHosts: settings.allowedHosts,
    accounts,
    logger: createLogger(process.stderr.isTTY ? 'warn' : 'info', redactor),
    redactor,
    ...guardedByKey(apiKey),
    maxSteps: options.maxSteps,
    sessionTtlMs: options.sessionTtlMs ?? fromVariable('PROCTOR_SESSION_TTL_MS', parseTtl),
    maxSessions: options.maxSessions,
    hosts: options.hosts,
    startTimeoutMs: options.startTimeoutMs,
    ...(options.warm === undefined ? {} : { warmProcesses: options.warm, isWarmAtStart: true }),
  });
  const { server } = await naming('--port', starting);
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
