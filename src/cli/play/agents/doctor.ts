import type { Command } from 'commander';
import { messageOf } from '../../../contract/errors.ts';
import type { Trace } from '../../../contract/service/trace.ts';
import type { Agents } from '../../../rollout/agents/agents.ts';
import { sandboxProblem } from '../../../rollout/agents/sandbox.ts';
import { loadProject } from '../../../service/config/project.ts';
import { SilentFailure } from '../../base/failure.ts';
import { listenForStop } from '../../base/signals.ts';
import { colors, note, print, printable, printableLines, printJson } from '../../base/terminal.ts';
import { practise } from './practice.ts';

/**
 * Most output lines of a failed agent that are shown: the first ones, which often contain the reason, and the last
 * ones.
 */
const KEPT_LINES = 100;
/** Matches the line of a stack or log with the error: `Error: no key`, `ModuleNotFoundError: …`, `error: no key`. */
const ERROR_LINE = /^\s*(?:Uncaught )?(?:[\w.]*(?:Error|Exception)\b[^:]*:|error:|fatal:|thread '.*' panicked)/i;

export function addDoctorCommand(agents: Command): void {
  agents
    .command('doctor [name]')
    .description('Have each agent play a small scenario with a model that follows a script, and say what works.')
    .option('--verbose', 'print all that a failed agent wrote, and not the reason alone')
    .option('--json', 'print {healthy, sandbox, agents}')
    .addHelpText(
      'after',
      `
It needs no gateway and no environment: scenario, model and database are in memory. Without a name it tries the agents of
the configuration, and those known ones that are installed. "acp:<command>" tries a program that is in no configuration.

Exit code: 0 when every agent works, 1 when one does not.

Examples:
  $ proctor agents doctor
  $ proctor agents doctor codex
  $ proctor agents doctor "acp:gemini --acp --yolo" --json`,
    )
    .action(examine);
}

/** Result of the practice run of an agent. */
interface Finding {
  readonly name: string;
  readonly version: string | null;
  readonly works: boolean;
  readonly message: string;
  /** Output line with the reason of a failure; null without output. */
  readonly reason: string | null;
  readonly lines: readonly string[];
  readonly trace: Trace | null;
}

interface DoctorOptions {
  readonly json?: boolean;
  readonly verbose?: boolean;
}

async function examine(name: string | undefined, { json = false, verbose = false }: DoctorOptions): Promise<void> {
  using stop = listenForStop(() => note(colors.yellow('Stopping: the agent is ended.')));
  const { agents } = await loadProject();
  const names = name === undefined ? agents.names : [name];
  const sandbox = await sandboxProblem();
  const findings: Finding[] = [];
  if (!json) {
    const where =
      sandbox === undefined ? 'agents run in a sandbox of bubblewrap' : `agents run without one: ${sandbox}`;
    print(`${sandbox === undefined ? colors.green('ok  ') : colors.yellow('warn')}  sandbox  ${where}`);
  }
  for (const each of names) {
    if (stop.signal.aborted) break;
    const finding = await examineOne(each, agents, stop.signal);
    findings.push(finding);
    if (!json) printFinding(finding, verbose);
  }
  if (names.length === 0 && !json) {
    note(
      'There are no agents here: claude, codex, gemini and opencode are known when they are installed, others go into',
    );
    note('`agents` of proctor.config.ts.');
  }
  const healthy = findings.length === names.length && findings.every(({ works }) => works);
  if (json) {
    const told = findings.map(({ trace, ...finding }) => ({ ...finding, outcome: trace?.outcome ?? null }));
    printJson({ healthy, sandbox: sandbox === undefined, agents: told });
  }
  if (!healthy) throw new SilentFailure();
}

async function examineOne(name: string, agents: Agents, stop: AbortSignal): Promise<Finding> {
  let version: string | null = null;
  try {
    const agent = agents.find(name);
    version = agent.version;
    const trace = await practise(agent, agents, stop);
    const works = trace.outcome === 'graded' && trace.reward === 1;
    const lines = works ? [] : writtenLines(trace);
    return { name, version, works, message: describe(trace, works), reason: reasonIn(lines), lines, trace };
  } catch (error) {
    return { name, version, works: false, message: messageOf(error), reason: null, lines: [], trace: null };
  }
}

function describe({ usage, timing, error, outcome, reward }: Trace, works: boolean): string {
  const seconds = (timing.total_ms / 1_000).toFixed(1);
  const calls = `${usage.model_calls} model calls, ${usage.tool_calls} tool calls, ${seconds} s`;
  if (works) return `plays: ${calls}`;
  return `${error?.message ?? `it ended with the outcome ${outcome} and the reward ${reward}`} (${calls})`;
}

/** Output of the agent: standard error, or standard output if that is empty. */
function writtenLines({ logs }: Trace): readonly string[] {
  const written = (source: string) => logs.filter(({ logger }) => logger === source).map(({ message }) => message);
  const [errors, texts] = [written('agent.stderr'), written('agent.stdout')];
  const lines = (errors.length > 0 ? errors : texts).join('\n').split('\n');
  const left = lines.length - 2 * KEPT_LINES;
  return left > 0 ? [...lines.slice(0, KEPT_LINES), `… ${left} lines …`, ...lines.slice(-KEPT_LINES)] : lines;
}

/** The first line with an error, otherwise the first that is not blank. */
function reasonIn(lines: readonly string[]): string | null {
  return (lines.find((line) => ERROR_LINE.test(line)) ?? lines.find((line) => line.trim() !== ''))?.trim() ?? null;
}

function printFinding({ name, version, works, message, reason, lines }: Finding, isVerbose: boolean): void {
  const mark = works ? colors.green('ok  ') : colors.red('fail');
  print(`${mark}  ${printable(name)}${version === null ? '' : ` ${printable(version)}`}  ${printableLines(message)}`);
  if (reason !== null) print(`      ${printable(reason, 300)}`);
  if (isVerbose) for (const line of lines) print(colors.dim(`      ${printable(line, 300)}`));
  else if (lines.length > 1) print(colors.dim(`      It wrote ${lines.length} lines: --verbose prints them.`));
}
