import type { Catalogue } from '../../client/catalogue.ts';
import { ApiError } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import type { Task } from '../../contract/task.ts';
import { loadDeclaredTasks } from '../../tasks/find-tasksets.ts';
import { compareIds } from '../../tasks/taskset.ts';

/** A scenario as the protocol names it: an environment. */
export interface OrsEnvironment {
  /** Lower-case letters, digits and `_`. */
  readonly name: string;
  /** Configured name of the environment that has the scenario. */
  readonly environment: string;
  readonly entry: ScenarioEntry;
}

export type SplitName = 'train' | 'validation' | 'test';

const SPLITS: readonly SplitName[] = ['train', 'validation', 'test'];

/**
 * All scenarios of some environments, in the order of those and of their declaration; the first one is the default.
 *
 * @throws Error where there are none, and for two whose names are one.
 */
export async function listOrsEnvironments(
  catalogue: Pick<Catalogue, 'environments' | 'scenarios'>,
): Promise<readonly OrsEnvironment[]> {
  const found: { readonly environment: string; readonly entry: ScenarioEntry }[] = [];
  for (const environment of catalogue.environments()) {
    for (const entry of await catalogue.scenarios(environment)) found.push({ environment, entry });
  }
  if (found.length === 0) throw new Error('None of the environments has a scenario: there is nothing to serve.');
  const short = found.map(({ entry }) => toName(entry.short_name));
  const named = found.map((each, index) => {
    const name = short[index] ?? '';
    const isShared = short.filter((other) => other === name).length > 1;
    return { ...each, name: isShared ? toName(`${each.environment}_${each.entry.short_name}`) : name };
  });
  for (const { name, environment, entry } of named) {
    const other = named.find((each) => each.name === name && each.entry !== entry);
    if (other === undefined) continue;
    throw new Error(
      `Two scenarios would be served as "${name}": ${environment}:${entry.short_name} and ${other.environment}:${other.entry.short_name}. Rename one of them.`,
    );
  }
  return named;
}

function toName(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9_]/g, '_');
}

/** The tasks of scenarios, by their splits. */
export class OrsTasks {
  readonly #catalogue: Pick<Catalogue, 'declaringScenarios' | 'declaredTasks'>;
  readonly #taskset: readonly Task[] | undefined;

  /** @param taskset in place of the tasks that scenarios declare. */
  constructor(
    catalogue: Pick<Catalogue, 'declaringScenarios' | 'declaredTasks'>,
    taskset: readonly Task[] | undefined = undefined,
  ) {
    this.#catalogue = catalogue;
    this.#taskset = taskset;
  }

  /** The splits that have tasks; `train` for a scenario without any. @throws as `loadDeclaredTasks`. */
  async splits(environment: OrsEnvironment): Promise<readonly SplitName[]> {
    const tasks = await this.#tasksOf(environment);
    const found = SPLITS.filter((split) => tasks.some((task) => splitOf(task) === split));
    return found.length === 0 ? ['train'] : found;
  }

  /**
   * Arguments of the tasks of a split, in order of their ids.
   *
   * @throws ApiError invalid_parameter for a split that it does not have; else as `loadDeclaredTasks`.
   */
  async ofSplit(environment: OrsEnvironment, split: string): Promise<readonly JsonObject[]> {
    const splits = await this.splits(environment);
    if (!splits.some((each) => each === split)) {
      const message = `Invalid split ${JSON.stringify(split.slice(0, 100))}: ${environment.name} has ${splits.join(', ')}.`;
      throw new ApiError('invalid_parameter', message, { param: 'split' });
    }
    const tasks = (await this.#tasksOf(environment)).filter((task) => splitOf(task) === split);
    return tasks.map(({ args }) => args);
  }

  /** @param index from 0; negative ones count from the end. @throws ApiError invalid_parameter; else as `ofSplit`. */
  async at(environment: OrsEnvironment, split: string, index: number): Promise<JsonObject> {
    const tasks = await this.ofSplit(environment, split);
    const task = tasks.at(index);
    if (task !== undefined) return task;
    const message = `Invalid index ${index}: the split ${split} of ${environment.name} has ${tasks.length} tasks.`;
    throw new ApiError('invalid_parameter', message, { param: 'index' });
  }

  async #tasksOf({ environment, entry }: OrsEnvironment): Promise<readonly Task[]> {
    const scenario = entry.short_name;
    if (this.#taskset !== undefined) {
      const own = this.#taskset.filter((task) => task.env === environment && task.scenario === scenario);
      return own.sort((a, b) => compareIds(a.id, b.id));
    }
    if (!(await this.#catalogue.declaringScenarios(environment)).includes(scenario)) return [];
    return (await loadDeclaredTasks(this.#catalogue, environment, scenario)).tasks;
  }
}

function splitOf({ split }: Task): SplitName {
  return split ?? 'train';
}
