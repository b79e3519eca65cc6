import { connectEnvironment } from '../../client/connect.ts';
import { readDeclaredTasks, readDeclaringScenarios } from '../../client/declared-tasks.ts';
import type { AgentToolEntry, EnvironmentTarget } from '../../client/environment-client.ts';
import type { McpEnvironmentClient } from '../../client/mcp-environment-client.ts';
import { argumentIssues } from '../../client/scenario-args.ts';
import { readScenarioWarnings } from '../../client/scenario-warnings.ts';
import { messageOf } from '../../contract/errors.ts';
import { META } from '../../contract/names.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import { randomArguments } from '../../model/random-arguments.ts';
import { createSeededRandom } from '../../model/seeded-random.ts';
import { canonicalJson } from '../../tasks/canonical-json.ts';
import { loadDeclaredTasks } from '../../tasks/find-tasksets.ts';
import { selectTasks } from '../../tasks/select-tasks.ts';
import type { CheckTask } from './finding.ts';

/** A scenario and the tasks of it that are tried. */
export interface CheckedScenario {
  readonly entry: ScenarioEntry;
  readonly tasks: readonly CheckTask[];
  /** Why there are none. */
  readonly problem: string | undefined;
}

/** The parts of an environment that a check asks about once. */
export interface EnvironmentFacts {
  readonly scenarios: readonly CheckedScenario[];
  /** Those that an agent sees before a scenario begins. */
  readonly tools: readonly AgentToolEntry[];
  /** Its name, version and instructions are told to every agent. */
  readonly instructions: string;
  /** Sentences about scenarios whose patterns fit no tool. */
  readonly warnings: readonly string[];
  /** Sessions that may share a process of it, as it says. */
  readonly sessionsPerProcess: number;
  /** It says that its tools reach the machine. */
  readonly isUnsandboxed: boolean;
}

export interface ReadOptions {
  /** Tasks of each scenario, at most. */
  readonly tasks: number;
  readonly seed: number;
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** Draws that are made for one task: some may be the same. */
const DRAWS = 8;

/** Reads the scenarios of an environment, and picks their tasks. @throws BoundaryError where it cannot be started. */
export async function readEnvironment(target: EnvironmentTarget, options: ReadOptions): Promise<EnvironmentFacts> {
  const { limitMs, signal } = options;
  const client = await connectEnvironment(target, { signal, timeoutMs: limitMs });
  const limits = { signal, timeoutMs: limitMs };
  try {
    const entries = await client.scenarios(limits);
    const declaring = new Set(await readDeclaringScenarios(client, limits));
    const scenarios: CheckedScenario[] = [];
    for (const entry of entries) {
      const isDeclaring = declaring.has(entry.short_name);
      scenarios.push(isDeclaring ? await declaredTasks(client, entry, options) : drawnTasks(entry, options));
    }
    return {
      scenarios,
      tools: await client.tools(limits),
      instructions: client.instructions,
      warnings: await readScenarioWarnings(client, limits).catch(() => []),
      sessionsPerProcess: client.sessionsPerProcess,
      isUnsandboxed: client.handshakeMeta[META.unsandboxed] === true,
    };
  } finally {
    await client.close();
  }
}

async function declaredTasks(
  client: McpEnvironmentClient,
  entry: ScenarioEntry,
  { tasks: count, seed, limitMs, signal }: ReadOptions,
): Promise<CheckedScenario> {
  const reading = {
    declaredTasks: (_name: string, scenario: string) =>
      readDeclaredTasks(client, scenario, { signal, timeoutMs: limitMs }),
  };
  try {
    const { tasks } = await loadDeclaredTasks(reading, client.name, entry.short_name);
    const picked = selectTasks(tasks, [{ kind: 'sample', count, seed: String(seed) }]);
    for (const { id, args } of picked) {
      const [issue] = argumentIssues(entry, args);
      if (issue !== undefined)
        throw new Error(
          `The arguments of its task ${JSON.stringify(id)} do not fit its schema: ${issue.path} ${issue.message}`,
        );
    }
    return {
      entry,
      tasks: picked.map(({ id, args, user_script: userScript }) => ({
        ...{ id, args, userScript },
        scenario: entry,
        isDeclared: true,
      })),
      problem: undefined,
    };
  } catch (error) {
    signal.throwIfAborted();
    return { entry, tasks: [], problem: `Its tasks cannot be read: ${messageOf(error)}` };
  }
}

/** Different arguments that the schema allows. One without arguments has one task. */
function drawnTasks(entry: ScenarioEntry, { tasks: count, seed }: ReadOptions): CheckedScenario {
  const toTask = (args: CheckTask['args'], index: number) => ({
    id: `drawn-${index + 1}`,
    scenario: entry,
    args,
    isDeclared: false,
  });
  const random = createSeededRandom(seed);
  const drawn = new Map<string, CheckTask['args']>();
  for (let draw = 0; draw < count * DRAWS && drawn.size < count; draw += 1) {
    const args = randomArguments(entry.args_schema, random);
    if (args === undefined) break;
    drawn.set(canonicalJson(args), args);
    if (entry.arguments.length === 0) break;
  }
  const tasks = [...drawn.values()].map(toTask);
  const problem = 'No arguments could be made for it from its schema: declare tasks, or examples in the schema.';
  return { entry, tasks, problem: tasks.length === 0 ? problem : undefined };
}
