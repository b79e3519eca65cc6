import type { Command } from 'commander';
import { readableText } from '../contract/content-text.ts';
import { MAX_STEPS } from '../contract/names.ts';
import { answerWaySchema, type Seat } from '../contract/seat.ts';
import { SilentFailure } from './failure.ts';
import { collect, oneOf, parsePort, parseSampling, parseServiceUrl, wholeNumber } from './options.ts';
import { describeOutcome } from './run-view.ts';
import { openSeatAtService } from './seat-at-service.ts';
import { openSeatHere } from './seat-here.ts';
import type { SeatSettings } from './seat-plan.ts';
import { listenForStop } from './signals.ts';
import { colors, note, print, printable, printJson } from './terminal.ts';

const ANSWERS = answerWaySchema.options;

export function addSeatCommand(program: Command): void {
  program
    .command('seat <environment> [scenario]')
    .description('Open a seat: a scenario for an agent of your own, which plays it over MCP.')
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
    .option('--port <port>', 'port of the address (default: a free one)', parsePort)
    .option('--service <url>', 'open it at this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
    .option('-q, --quiet', 'no tool calls, only how the run ended')
    .option('--json', 'print the seat as one JSON object, and its end as another')
    .addHelpText(
      'after',
      `
It prints an MCP address with the scenario's tools and a tool submit_answer, and waits until the agent has called that.
With --model it also prints addresses for the agent's model calls. With --answer final_message, or either, the last text
of the model is the answer of an agent that is idle for ten minutes.
The addresses hold a secret: whoever knows it sits there. Ctrl-C cancels the run.

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
  const { service, json = false, quiet = false } = options;
  using stop = listenForStop(() => note(colors.yellow('Stopping: the run is cancelled. Once more ends it at once.')));
  await using plan = await (service === undefined
    ? openSeatHere(environment, scenario, options, quiet || json)
    : openSeatAtService(service, environment, scenario, options));
  if (json) printJson(plan.seat);
  else printSeat(plan.seat);
  const trace = await plan.ended(stop.signal);
  if (json) printJson({ trace_id: trace.trace_id, reward: trace.reward });
  else {
    print(describeOutcome(trace));
    note(colors.dim(trace.trace_url));
  }
  if (trace.status !== 'completed') throw new SilentFailure();
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
  note(colors.dim('The seat waits for its agent. Ctrl-C cancels it.'));
}
