import { messageOf } from '../../contract/errors.ts';
import { META } from '../../contract/names.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import { connectEnvironment } from '../../environment/client/connect.ts';
import { readDeclaredTasks, readDeclaringScenarios } from '../../environment/client/declared-tasks.ts';
import type { AgentToolEntry, EnvironmentTarget } from '../../environment/client/environment-client.ts';
import type { McpEnvironmentClient } from '../../environment/client/mcp-environment-client.ts';
import { argumentIssues } from '../../environment/client/scenario-args.ts';
import { readScenarioWarnings } from '../../environment/client/scenario-warnings.ts';
import { randomArguments } from '../../models/gateway/reference/random-arguments.ts';
import { createSeededRandom } from '../../models/gateway/reference/seeded-random.ts';
import { canonicalJson } from '../tasks/canonical-json.ts';
import { loadDeclaredTasks } from '../tasks/find-tasksets.ts';
import { selectTasks } from '../tasks/select-tasks.ts';
import type { CheckTask } from './finding.ts';

/** A scenario and its tasks to check. */
export interface CheckedScenario {
  readonly entry: ScenarioEntry;
  readonly tasks: readonly CheckTask[];
  /** Reason why there are no tasks. */
  readonly problem: string | undefined;
}

/** Facts about an environment that a check reads once. */
export interface EnvironmentFacts {
  readonly scenarios: readonly CheckedScenario[];
  /** Tools that an agent sees before a scenario begins. */
  readonly tools: readonly AgentToolEntry[];
  /** Name, version and instructions, which every agent gets. */
  readonly instructions: string;
  /** Sentences about scenarios whose patterns fit no tool. */
  readonly warnings: readonly string[];
  /** Sessions that the environment allows in one process. */
  readonly sessionsPerProcess: number;
  /** True if the environment says that its tools reach the machine. */
  readonly isUnsandboxed: boolean;
}

/** Scenario and task to check, by name and id. */
export interface OnlyTasks {
  readonly scenario?: string | undefined;
  readonly task?: string | undefined;
}

export interface ReadOptions {
  /** Most tasks of each scenario. */
  readonly tasks: number;
  readonly seed: number;
  readonly only: OnlyTasks;
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** The requested scenario or task does not exist. */
export class NothingToCheck extends Error {}

/** Draws for each task, because some may be equal. */
const DRAWS = 8;

/**
 * Reads the scenarios of an environment and picks tasks. @throws BoundaryError if it cannot be started; NothingToCheck.
 */
export async function readEnvironment(target: EnvironmentTarget, options: ReadOptions): Promise<EnvironmentFacts> {
  const { limitMs, signal } = options;
  const client = await connectEnvironment(target, { signal, timeoutMs: limitMs });
  const limits = { signal, timeoutMs: limitMs };
  try {
    const entries = await client.scenarios(limits);
    const declaring = new Set(await readDeclaringScenarios(client, limits));
    const scenarios: CheckedScenario[] = [];
    for (const entry of wantedOf(entries, options.only)) {
      const isDeclaring = declaring.has(entry.short_name);
      scenarios.push(isDeclaring ? await declaredTasks(client, entry, options) : drawnTasks(entry, options));
    }
    const wanted = options.only.task === undefined ? scenarios : scenarios.filter(({ tasks }) => tasks.length > 0);
    if (wanted.length === 0 && scenarios.length > 0)
      throw new NothingToCheck(`There is no task ${JSON.stringify(options.only.task)}.`);
    return {
      scenarios: wanted,
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

/** @throws NothingToCheck for an unknown scenario. */
function wantedOf(entries: readonly ScenarioEntry[], { scenario }: OnlyTasks): readonly ScenarioEntry[] {
  if (scenario === undefined) return entries;
  const wanted = entries.filter((entry) => entry.short_name === scenario || entry.name === scenario);
  if (wanted.length > 0) return wanted;
  const names = entries.map((entry) => entry.short_name).join(', ');
  throw new NothingToCheck(`There is no scenario ${JSON.stringify(scenario)}: it has ${names}.`);
}

async function declaredTasks(
  client: McpEnvironmentClient,
  entry: ScenarioEntry,
  { tasks: count, seed, only, limitMs, signal }: ReadOptions,
): Promise<CheckedScenario> {
  const reading = {
    declaredTasks: (_name: string, scenario: string) =>
      readDeclaredTasks(client, scenario, { signal, timeoutMs: limitMs }),
  };
  try {
    const { tasks } = await loadDeclaredTasks(reading, client.name, entry.short_name);
    const wanted = only.task === undefined ? tasks : tasks.filter(({ id }) => id === only.task);
    const picked = selectTasks(wanted, [{ kind: 'sample', count, seed: String(seed) }]);
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
        id,
        args,
        userScript,
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

/** Draws different arguments that fit the schema. A scenario without arguments has one task. */
function drawnTasks(entry: ScenarioEntry, { tasks: count, seed, only }: ReadOptions): CheckedScenario {
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
  const wanted = tasks.filter(({ id }) => only.task === undefined || id === only.task);
  return { entry, tasks: wanted, problem: tasks.length === 0 ? problem : undefined };
}
