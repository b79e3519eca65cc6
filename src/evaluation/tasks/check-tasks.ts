import { ApiError, type ErrorCode } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import { checkSize } from '../../contract/size-limits.ts';
import type { Task } from '../../contract/task.ts';
import type { SchemaIssue } from '../../support/schema/json-schema.ts';
import type { FieldProblem } from './parse-task.ts';
import { type TaskProblem, tasksRefused } from './tasks-refused.ts';
import type { Taskset } from './taskset.ts';

/** `environment/client/catalogue` is one. */
export interface ScenarioCatalogue {
  find(environment: string, scenario: string): Promise<ScenarioEntry>;
  /** Everything that is wrong with the arguments of a scenario. */
  argumentIssues(entry: ScenarioEntry, args: JsonObject): readonly SchemaIssue[];
}

/** Tasks that are checked before the process turns to something else. */
const TASKS_AT_ONCE = 1_000;
/** Problems that are kept: a message lists 20. The others are counted. */
const MAX_KEPT = 20;

/**
 * Checks environment, scenario and arguments of every task before any of them runs. Each scenario is looked up once.
 *
 * @throws ApiError with the place of each problem: the line of a file, or `tasks[3].args.id`.
 * @throws BoundaryError `environment` where one cannot be started; the reason of the signal.
 */
export async function checkTasks(taskset: Taskset, catalogue: ScenarioCatalogue, signal?: AbortSignal): Promise<void> {
  const { tasks, origin } = taskset;
  const scenarios = await lookUp(tasks, catalogue, signal);
  const problems: TaskProblem[] = [];
  let total = 0;
  for (const [index, task] of tasks.entries()) {
    if (index % TASKS_AT_ONCE === TASKS_AT_ONCE - 1) await new Promise(setImmediate);
    signal?.throwIfAborted();
    for (const problem of problemsOf(task, scenarios.get(keyOf(task)), catalogue)) {
      total += 1;
      problems.push({ ...problem, position: origin.positions[index] ?? index });
    }
    // The tasks are in order of id, and the message lists the first problems of the file.
    if (problems.length > TASKS_AT_ONCE) keepFirst(problems);
  }
  keepFirst(problems);
  if (total > 0) throw tasksRefused(origin, problems, total);
}

/** Whether a scenario is there, or which field of its tasks is at fault. */
type Found = { readonly entry: ScenarioEntry } | { readonly problem: FieldProblem & { readonly code: ErrorCode } };

async function lookUp(
  tasks: readonly Task[],
  catalogue: ScenarioCatalogue,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, Found>> {
  const asked = new Map(tasks.map((task) => [keyOf(task), task]));
  const found = new Map<string, Found>();
  const unknownEnvironments = new Map<string, Found>();
  for (const [key, { env, scenario }] of asked) {
    signal?.throwIfAborted();
    const known = unknownEnvironments.get(env) ?? (await find(catalogue, env, scenario));
    if ('problem' in known && known.problem.field === 'env') unknownEnvironments.set(env, known);
    found.set(key, known);
  }
  return found;
}

async function find(catalogue: ScenarioCatalogue, env: string, scenario: string): Promise<Found> {
  try {
    return { entry: await catalogue.find(env, scenario) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const field = error.code === 'env_not_found' ? 'env' : error.code === 'scenario_not_found' ? 'scenario' : undefined;
    if (field === undefined) throw error;
    return { problem: { field, sentence: error.message, code: error.code } };
  }
}

function problemsOf(
  { args }: Task,
  found: Found | undefined,
  catalogue: ScenarioCatalogue,
): readonly (FieldProblem & { readonly code?: ErrorCode })[] {
  if (found === undefined) return [];
  if ('problem' in found) return [found.problem];
  const size = sizeProblem(args);
  if (size !== undefined) return [size];
  return catalogue.argumentIssues(found.entry, args).map(({ path, message }) => ({
    field: path === '' ? 'args' : `args.${path}`,
    sentence: `It ${message}.`,
    code: 'invalid_scenario_args',
  }));
}

function sizeProblem(args: JsonObject): (FieldProblem & { readonly code: ErrorCode }) | undefined {
  try {
    checkSize('scenario_args', args);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { field: 'args', sentence: error.message.replace('scenario_args is', 'It is'), code: error.code };
  }
}

function keepFirst(problems: TaskProblem[]): void {
  problems.sort((a, b) => (a.position ?? 0) - (b.position ?? 0)).splice(MAX_KEPT);
}

function keyOf({ env, scenario }: Task): string {
  return `${env.length} ${env} ${scenario}`;
}
