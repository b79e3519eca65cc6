import type { Command } from 'commander';
import type { Agents } from '../../agents/agents.ts';
import { sandboxProblem } from '../../agents/sandbox.ts';
import { loadProject } from '../../config/project.ts';
import { messageOf } from '../../contract/errors.ts';
import type { Trace } from '../../contract/trace.ts';
import { SilentFailure } from '../failure.ts';
import { listenForStop } from '../signals.ts';
import { colors, note, print, printable, printableLines, printJson } from '../terminal.ts';
import { practise } from './practice.ts';

/** Of what an agent wrote, for a person who looks for the reason. */
const LAST_LINES = 5;

export function addDoctorCommand(agents: Command): void {
  agents
    .command('doctor [name]')
    .description('Have each agent play a small scenario with a model that follows a script, and say what works.')
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

/** What a practice has shown of an agent. */
interface Finding {
  readonly name: string;
  readonly version: string | null;
  readonly works: boolean;
  readonly message: string;
  readonly lines: readonly string[];
  readonly trace: Trace | null;
}

async function examine(name: string | undefined, { json = false }: { readonly json?: boolean }): Promise<void> {
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
    if (!json) printFinding(finding);
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
    return { name, version, works, message: describe(trace, works), lines: works ? [] : lastLines(trace), trace };
  } catch (error) {
    return { name, version, works: false, message: messageOf(error), lines: [], trace: null };
  }
}

function describe({ usage, timing, error, outcome, reward }: Trace, works: boolean): string {
  const seconds = (timing.total_ms / 1_000).toFixed(1);
  const calls = `${usage.model_calls} model calls, ${usage.tool_calls} tool calls, ${seconds} s`;
  if (works) return `plays: ${calls}`;
  return `${error?.message ?? `it ended with the outcome ${outcome} and the reward ${reward}`} (${calls})`;
}

/** What it wrote last, standard error before standard output. */
function lastLines({ logs }: Trace): readonly string[] {
  const written = (source: string) => logs.filter(({ logger }) => logger === source).map(({ message }) => message);
  const [errors, texts] = [written('agent.stderr'), written('agent.stdout')];
  return (errors.length > 0 ? errors : texts).join('\n').split('\n').slice(-LAST_LINES);
}

function printFinding({ name, version, works, message, lines }: Finding): void {
  const mark = works ? colors.green('ok  ') : colors.red('fail');
  print(`${mark}  ${printable(name)}${version === null ? '' : ` ${printable(version)}`}  ${printableLines(message)}`);
  for (const line of lines) print(colors.dim(`      ${printable(line, 300)}`));
}
