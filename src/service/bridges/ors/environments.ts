import { ApiError } from '../../../contract/errors.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { ScenarioEntry } from '../../../contract/scenario.ts';
import type { Task } from '../../../contract/task.ts';
import type { Catalogue } from '../../../environment/client/catalogue.ts';
import { type PlayableOptions, playableAmong } from '../playable.ts';
import { type ScenarioTasksOptions, type SplitName, splitOf, tasksOfScenario } from '../scenario-tasks.ts';

/** A scenario. The protocol calls it an environment. */
export interface OrsEnvironment {
  /** Lower-case letters, digits and `_`. */
  readonly name: string;
  /** Configured name of the environment that declares the scenario. */
  readonly environment: string;
  readonly entry: ScenarioEntry;
}

const SPLITS: readonly SplitName[] = ['train', 'validation', 'test'];

/**
 * Lists the playable scenarios of the environments, in the order of the environments and of their declaration. The
 * first one is the default.
 *
 * @throws Error if there are none, or if two have the same name.
 */
export async function listOrsEnvironments(
  catalogue: Pick<Catalogue, 'environments' | 'scenarios'>,
  options: PlayableOptions,
): Promise<readonly OrsEnvironment[]> {
  const all: { readonly environment: string; readonly entry: ScenarioEntry }[] = [];
  for (const environment of catalogue.environments()) {
    for (const entry of await catalogue.scenarios(environment)) all.push({ environment, entry });
  }
  if (all.length === 0) throw new Error('None of the environments has a scenario: there is nothing to serve.');
  const found = playableAmong(all, options);
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

/** The tasks of scenarios, grouped by split. */
export class OrsTasks {
  readonly #options: ScenarioTasksOptions;

  constructor(options: ScenarioTasksOptions) {
    this.#options = options;
  }

  /** Splits that have tasks; `train` for a scenario without tasks. @throws as `loadDeclaredTasks`. */
  async splits(environment: OrsEnvironment): Promise<readonly SplitName[]> {
    const tasks = await this.#tasksOf(environment);
    const found = SPLITS.filter((split) => tasks.some((task) => splitOf(task) === split));
    return found.length === 0 ? ['train'] : found;
  }

  /**
   * Arguments of the tasks of a split, ordered by task id.
   *
   * @throws ApiError invalid_parameter for an unknown split; otherwise as `loadDeclaredTasks`.
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

  /** @param index from 0; a negative one counts from the end. @throws ApiError invalid_parameter; also as `ofSplit`. */
  async at(environment: OrsEnvironment, split: string, index: number): Promise<JsonObject> {
    const tasks = await this.ofSplit(environment, split);
    const task = tasks.at(index);
    if (task !== undefined) return task;
    const message = `Invalid index ${index}: the split ${split} of ${environment.name} has ${tasks.length} tasks.`;
    throw new ApiError('invalid_parameter', message, { param: 'index' });
  }

  async #tasksOf({ environment, entry }: OrsEnvironment): Promise<readonly Task[]> {
    return await tasksOfScenario(this.#options, environment, entry.short_name);
  }
}
