import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import type { ServiceClient } from '../../client/service-client.ts';
import { readableText } from '../../contract/content-text.ts';
import { messageOf } from '../../contract/errors.ts';
import { MAX_STEPS } from '../../contract/names.ts';
import { type AnswerWay, answerWaySchema, type Seat } from '../../contract/service/seat.ts';
import { SilentFailure } from '../base/failure.ts';
import { collect, oneOf, parsePort, parseSampling, parseServiceUrl, wholeNumber } from '../base/options.ts';
import { openPlace, type Place } from '../base/place.ts';
import { scenarioMissing } from '../base/scenario-arguments.ts';
import { listenForStop } from '../base/signals.ts';
import { colors, note, print, printable, printJson } from '../base/terminal.ts';
import { playRun } from './play-run.ts';
import { findScenario } from './run-plan.ts';
import { createRunView, describeOutcome } from './run-view.ts';
import { type SeatSettings, toSeatRequest } from './seat-plan.ts';

const ANSWERS = answerWaySchema.options;

export function addSeatCommand(program: Command): void {
  program
    .command('seat <environment> [scenario]')
    .description('Open an MCP address at which your own agent plays one scenario.')
    .option('--arg <name=value>', 'an argument of the scenario; may be repeated', collect)
    .option('--args <json>', 'the arguments as one JSON object')
    .option(
      '--model <model>',
      'a model of the gateway, which the agent asks at addresses of the seat (default: it brings its own)',
    )
    .option('--answer <way>', 'tool, final_message or either (default: tool; either with --model)', oneOf(ANSWERS))
    .option('--seed <seed>', 'forwarded to the model', wholeNumber(Number.MIN_SAFE_INTEGER))
    .option(
      '--sampling <json>',
      'parameters for the model, which win over those of the agent: {"temperature":0}',
      parseSampling,
    )
    .option(
      '--max-steps <count>',
      'tool calls that the agent may make, or with --model its model calls, 1 to 500 (default 100)',
      wholeNumber(1, MAX_STEPS.maximum),
    )
    .option('--timeout <seconds>', 'time for the agent, 1 to 86,400 (default 3600)', wholeNumber(1, 86_400))
    .option('--metadata <name=value>', 'text to find the run by; may be repeated', collect)
    .option('--port <port>', 'port of the address, of a seat of this directory (default: a free one)', parsePort)
    .option('--service <url>', 'open it at this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
    .option('-q, --quiet', 'no tool calls, only how the run ended')
    .option('--json', 'print the seat as one JSON object, and its end as another')
    .addHelpText(
      'after',
      `
It prints an MCP address with the scenario's tools, and waits for the end. With --model it also prints addresses for the
agent's model calls. The addresses hold a secret, which opens the seat to anybody who knows it.

The run ends when the agent calls submit_answer, or is idle for ten minutes. Ctrl-C cancels it.
With --model the last text of the model is the answer of an idle agent. Enter submits this text at once: an agent that
calls no submit_answer ends its run this way. With --json Enter does nothing.
--answer tool takes submit_answer alone, final_message takes the last text alone, and either takes both.
In the background of a terminal, start the command with < /dev/null.

Exit code: 0 when the run completed; 1 when it failed or was cancelled; 2 when the command is wrong, and nothing ran.

Examples:
  $ proctor seat counter count_to --arg target=3
  $ proctor seat counter count_to --arg target=3 --model gpt-5-mini
  $ proctor seat retail task --arg task_id=1 --timeout 600 --json
  $ PROCTOR_API_KEY=... proctor seat retail task --arg task_id=1 --service https://proctor.example`,
    )
    .action(seat);
}

interface SeatCommandOptions extends SeatSettings {
  readonly service?: string;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

async function seat(environment: string, scenario: string | undefined, options: SeatCommandOptions): Promise<void> {
  const { json = false, quiet = false, port = 0, service } = options;
  using stop = listenForStop(() => note(colors.yellow('Stopping: the run is cancelled. Once more ends it at once.')));
  await using place = await openPlace({ service, environment });
  await using _address = await place.here?.listenForSeats(port);
  const seat = await openSeat(place, { typed: environment, scenario }, options);
  if (json) printJson(seat);
  else {
    printSeat(seat);
    note(colors.dim(describeEnd(options)));
  }
  using _enter = json ? undefined : submitAtEnter(place.client, seat);
  const trace = await playRun(place.client, async () => seat, quiet || json ? () => {} : createRunView(), stop.signal);
  if (json) printJson({ trace_id: trace.trace_id, reward: trace.reward });
  else {
    print(describeOutcome(trace));
    note(colors.dim(trace.trace_url));
  }
  if (trace.status !== 'completed') throw new SilentFailure();
}

/** @throws UsageError for a missing or unknown scenario. */
async function openSeat(
  { client, environment = '' }: Place,
  { typed, scenario }: { readonly typed: string; readonly scenario: string | undefined },
  settings: SeatSettings,
): Promise<Seat> {
  const { scenarios } = await client.environments.scenarios(environment);
  if (scenario === undefined) throw scenarioMissing(environment, scenarios, `proctor seat ${typed}`);
  const found = findScenario(scenarios, environment, scenario);
  return await client.seats.create(toSeatRequest(environment, found, settings, typed));
}

function printSeat({ mcp, model, env, configs, expires_at, system, prompt }: Seat): void {
  const secret = mcp.headers.Authorization ?? '';
  if (system !== null) print(`${colors.bold('System')}     ${printable(system)}`);
  for (const { content } of prompt)
    print(`${colors.bold('Task')}       ${printable(readableText(content, ' '), 1_000)}`);
  print(`${colors.bold('MCP')}        ${mcp.url}`);
  print(`${colors.bold('Header')}     Authorization: ${secret}`);
  print(`${colors.bold('In one')}     ${mcp.url.replace(/\/mcp$/, `/r/${secret.replace(/^Bearer /, '')}/mcp`)}`);
  if (model !== null) {
    print(`${colors.bold('OpenAI')}     ${model.openai_base_url}`);
    print(`${colors.bold('Anthropic')}  ${model.anthropic_base_url}`);
    print(`${colors.bold('Gemini')}     ${model.gemini_base_url}`);
    print(`${colors.bold('Key')}        ${model.api_key}`);
  }
  print(`${colors.bold('Until')}      ${expires_at}`);
  const variables = Object.entries(env).map(([name, value]) => `export ${name}=${value}`);
  const files = [
    ...(model === null ? [] : [['Variables of the process', variables.join('\n')] as const]),
    ['Claude Code, --mcp-config', JSON.stringify(configs.claude)],
    ['Codex, config.toml', configs.codex.trimEnd()],
    ['Gemini CLI, settings.json', JSON.stringify(configs.gemini)],
    ['opencode, opencode.json', JSON.stringify(configs.opencode)],
    ['VS Code, .vscode/mcp.json', JSON.stringify(configs.vscode)],
  ] as const;
  for (const [name, text] of files) {
    print();
    print(colors.dim(`# ${name}`));
    print(text);
  }
  print();
}

/** Describes how the run of a seat ends. The default is that of the service. */
function describeEnd({ model, answer = model === undefined ? 'tool' : 'either' }: SeatSettings): string {
  const last = 'the last text of its model is the answer';
  const ends: Readonly<Record<AnswerWay, string>> = {
    tool: 'It ends when that calls submit_answer, or after ten minutes without a request.',
    final_message: `It ends when you press Enter, or after ten minutes without a request: ${last}.`,
    either: `It ends when that calls submit_answer. When you press Enter, or after ten minutes without a request, ${last}.`,
  };
  return `The seat waits for its agent. ${ends[answer]} Ctrl-C cancels it.`;
}

/** Enter submits the last text of the seat, or prints why there is none. */
function submitAtEnter(client: ServiceClient, { trace_id }: Seat): Disposable {
  const lines = createInterface({ input: process.stdin });
  lines.on('line', () => {
    client.seats.answer(trace_id, null).catch((error: unknown) => note(colors.yellow(messageOf(error))));
  });
  return { [Symbol.dispose]: () => lines.close() };
}
