import { ApiError, messageOf } from '../../contract/errors.ts';
import type { Task, TasksetList } from '../../contract/task.ts';
import { preview } from '../../support/schema/json-schema.ts';
import { didYouMean } from '../../support/text/did-you-mean.ts';
import { parseDeclaredTask } from './parse-task.ts';
import { readTasksetFile } from './read-taskset-file.ts';
import { type TaskProblem, tasksRefused } from './tasks-refused.ts';
import { createTaskset, type Taskset } from './taskset.ts';
import { findTasksetFiles, TASKSETS_FOLDER, type TasksetFile } from './taskset-files.ts';

/** The tasks that scenarios declare: `environment/client/catalogue` has them. */
export interface DeclaredTasks {
  /** Names of the environments. */
  environments(): readonly string[];
  /** Short names of the scenarios of an environment that declare tasks. @throws what keeps it from being read. */
  declaringScenarios(environment: string): Promise<readonly string[]>;
  /** @throws for a scenario that the environment does not have. */
  find(environment: string, scenario: string): Promise<unknown>;
  /** As the environment gives them, unchecked. @throws BoundaryError `environment` with what the author's function threw. */
  declaredTasks(environment: string, scenario: string): Promise<readonly unknown[]>;
}

export interface TasksetsOptions {
  /** Its folder `tasksets` is looked into. */
  readonly directory: string;
  readonly declared: DeclaredTasks;
}

/** The tasksets of a working directory and its environments. A taskset is read anew for each request. */
export interface Tasksets {
  /** In order of name. One that cannot be read is listed with the reason, and so is an environment. */
  list(signal?: AbortSignal): Promise<TasksetList['data']>;
  /**
   * @param name the path of a file in `tasksets`, without its ending, `<environment>/<scenario>`, or `<environment>` for
   *   the tasks of all its scenarios. Never another path. With `:train`, `:validation` or `:test` behind it, those tasks of
   *   it that are of this split.
   * @throws ApiError `taskset_not_found` that lists those that there are. @throws ApiError for one that is not valid.
   * @throws BoundaryError `environment` where its environment fails.
   */
  load(name: string, signal?: AbortSignal): Promise<Taskset>;
}

const SPLIT_NAME = /^(.+):(train|validation|test)$/s;

/** Names that a message lists before it says how many more there are. */
const MAX_LISTED = 20;

export function createTasksets({ directory, declared }: TasksetsOptions): Tasksets {
  const sources = async (environments: readonly string[]) => [
    ...(await findTasksetFiles(directory)).map((file) => fileSource(file)),
    ...(await declaredSources(declared, environments)),
  ];

  const load = async (asked: string, signal?: AbortSignal) => {
    signal?.throwIfAborted();
    const [, name = asked, split] = SPLIT_NAME.exec(asked) ?? [];
    const whole = await loadWhole(name, signal);
    return split === undefined ? whole : ofSplit(whole, asked, split);
  };

  const loadWhole = async (name: string, signal?: AbortSignal) => {
    // No other environment is started for it.
    const own = declared.environments().filter((each) => name === each || name.startsWith(`${each}/`));
    const known = await sources(own);
    const found = known.filter((source) => source.name === name);
    const [only] = found;
    if (found.length > 1) throw ambiguous(name, found);
    if (only !== undefined) return await only.load(signal);
    if (own.includes(name)) {
      const whole = await loadEnvironment(declared, name, signal);
      if (whole !== undefined) return whole;
    }
    throw (await withoutTasks(name, declared)) ?? notFound(name, declared, await sources(declared.environments()));
  };

  const list = async (signal?: AbortSignal) => {
    const known = await sources(declared.environments());
    const data: TasksetList['data'] = [];
    // One after the other: each may be a process, or a hundred thousand tasks.
    for (const name of [...new Set(known.map((source) => source.name))].sort()) {
      signal?.throwIfAborted();
      const found = known.filter((source) => source.name === name);
      data.push(await describe(name, found, signal));
    }
    return data;
  };

  return { list, load };
}

/** @throws ApiError taskset_not_found where none of its tasks is of the split. */
function ofSplit({ name, tasks, origin }: Taskset, asked: string, split: string): Taskset {
  const chosen = [...tasks.keys()].filter((index) => tasks[index]?.split === split);
  if (chosen.length === 0) {
    throw new ApiError('taskset_not_found', `The taskset ${preview(name)} has no task of the split ${split}.`, {
      param: 'tasks',
    });
  }
  const positions = chosen.map((index) => origin.positions[index] ?? index);
  return createTaskset(
    asked,
    chosen.flatMap((index) => tasks[index] ?? []),
    { file: origin.file, by: origin.by, positions },
  );
}

interface Source {
  readonly name: string;
  /** As messages name it. */
  readonly label: string;
  load(signal: AbortSignal | undefined): Promise<Taskset>;
}

function fileSource({ name, path, label }: TasksetFile): Source {
  return { name, label, load: (signal) => readTasksetFile(path, { name, label, signal }) };
}

/** An environment that cannot be read hides no taskset of the others. */
async function declaredSources(declared: DeclaredTasks, environments: readonly string[]): Promise<readonly Source[]> {
  const found = environments.map(async (environment): Promise<readonly Source[]> => {
    try {
      const scenarios = await declared.declaringScenarios(environment);
      return scenarios.map((scenario) => declaredSource(declared, environment, scenario));
    } catch (error) {
      return [{ name: environment, label: `the environment ${environment}`, load: () => Promise.reject(error) }];
    }
  });
  return (await Promise.all(found)).flat();
}

/**
 * The taskset that a scenario declares.
 *
 * @throws ApiError for tasks that are not valid, and none. @throws BoundaryError `environment`.
 */
export async function loadDeclaredTasks(
  declared: Pick<DeclaredTasks, 'declaredTasks'>,
  environment: string,
  scenario: string,
): Promise<Taskset> {
  const name = `${environment}/${scenario}`;
  return createTaskset(name, await readDeclared(declared, environment, scenario), { file: name, by: 'index' });
}

function declaredSource(declared: DeclaredTasks, environment: string, scenario: string): Source {
  const name = `${environment}/${scenario}`;
  return {
    name,
    label: `the scenario ${name}`,
    load: () => loadDeclaredTasks(declared, environment, scenario),
  };
}

/** @throws ApiError that names the scenario, and tasks by their index. */
async function readDeclared(
  declared: Pick<DeclaredTasks, 'declaredTasks'>,
  environment: string,
  scenario: string,
): Promise<readonly Task[]> {
  const label = `${environment}/${scenario}`;
  const problems: TaskProblem[] = [];
  const tasks: Task[] = [];
  for (const [position, value] of (await declared.declaredTasks(environment, scenario)).entries()) {
    const parsed = parseDeclaredTask(value);
    if (parsed.problems !== undefined) problems.push(...parsed.problems.map((problem) => ({ position, ...problem })));
    else {
      const { cluster = parsed.value.id, ...task } = parsed.value;
      tasks.push({ ...task, cluster, env: environment, scenario, held_out: false });
    }
  }
  if (problems.length === 0 && tasks.length === 0) {
    problems.push({ position: null, field: '', sentence: 'It declares no tasks.' });
  }
  if (problems.length > 0) throw tasksRefused({ file: label, by: 'index' }, problems);
  return tasks;
}

/** The tasks of all scenarios of an environment, whose ids have to differ. Undefined where none declares any. */
async function loadEnvironment(
  declared: DeclaredTasks,
  name: string,
  signal: AbortSignal | undefined,
): Promise<Taskset | undefined> {
  const tasks: Task[] = [];
  for (const scenario of await declared.declaringScenarios(name)) {
    signal?.throwIfAborted();
    tasks.push(...(await loadDeclaredTasks(declared, name, scenario)).tasks);
  }
  if (tasks.length === 0) return undefined;
  refuseSharedIds(name, tasks);
  return createTaskset(name, tasks, { file: name, by: 'index' });
}

function refuseSharedIds(environment: string, tasks: readonly Task[]): void {
  const scenarios = new Map<string, string>();
  for (const { id, scenario } of tasks) {
    const other = scenarios.get(id);
    scenarios.set(id, scenario);
    if (other === undefined || other === scenario) continue;
    const sentence = `The scenarios ${other} and ${scenario} both declare the task ${preview(id)}; name one of them, as "${environment}/${other}".`;
    throw tasksRefused({ file: environment, by: 'index' }, [{ position: null, field: '', sentence }]);
  }
}

async function describe(
  name: string,
  found: readonly Source[],
  signal: AbortSignal | undefined,
): Promise<TasksetList['data'][number]> {
  try {
    const [only] = found;
    if (only === undefined || found.length > 1) throw ambiguous(name, found);
    const { version, tasks } = await only.load(signal);
    return { name, version, tasks: tasks.length, error: null };
  } catch (error) {
    if (signal?.aborted) throw error;
    return { name, version: null, tasks: null, error: messageOf(error) };
  }
}

function ambiguous(name: string, found: readonly Source[]): ApiError {
  const labels = found.map(({ label }) => label).join(' and ');
  return new ApiError('invalid_parameter', `${labels} have one name, ${preview(name)}; rename one of them.`, {
    param: 'tasks',
  });
}

/** The refusal of an environment or a scenario that is there and has no tasks. Undefined for any other name. */
async function withoutTasks(name: string, declared: DeclaredTasks): Promise<ApiError | undefined> {
  const environment = declared.environments().find((each) => name === each || name.startsWith(`${each}/`));
  if (environment === undefined) return undefined;
  const refuse = (sentence: string) => new ApiError('taskset_not_found', sentence, { param: 'tasks' });
  if (name === environment) {
    return refuse(
      `No scenario of the environment ${preview(name)} has tasks. Declare "tasks" of a scenario. ${IN_A_FILE}`,
    );
  }
  const scenario = name.slice(environment.length + 1);
  const isThere = await declared.find(environment, scenario).then(
    () => true,
    () => false,
  );
  if (!isThere) return undefined;
  return refuse(`The scenario ${preview(name)} has no tasks. Declare its "tasks". ${IN_A_FILE}`);
}

const IN_A_FILE = `Or write tasks into a file of the folder ${TASKSETS_FOLDER}, each with "id", "env", "scenario" and "args".`;

function notFound(name: string, declared: DeclaredTasks, known: readonly Source[]): ApiError {
  const names = [...new Set(known.map((source) => source.name))].sort();
  const environments = declared.environments().filter((each) => names.some((other) => other.startsWith(`${each}/`)));
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : '';
  const listed =
    names.length === 0
      ? `There are none: put files into the folder ${TASKSETS_FOLDER}, or declare "tasks" of a scenario.`
      : `Tasksets: ${names.slice(0, MAX_LISTED).join(', ')}${more}.`;
  const meant = didYouMean(name, [...names, ...environments]);
  return new ApiError('taskset_not_found', `No taskset is named ${preview(name)}.${meant} ${listed}`, {
    param: 'tasks',
  });
}
