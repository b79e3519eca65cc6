import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import type { ScenarioEntry } from '../../../contract/scenario.ts';
import type { Task } from '../../../contract/task.ts';
import { checkScenarioArgs } from '../../../environment/client/scenario-args.ts';
import { assertPlayable, type PlayableOptions, playableAmong } from '../playable.ts';
import { type ScenarioTasksOptions, splitOf, tasksOfScenario } from '../scenario-tasks.ts';
import { parse, resetSchema } from './messages.ts';
import { invalidField } from './openenv-error.ts';

export interface TaskChoiceOptions extends ScenarioTasksOptions, PlayableOptions {
  /** Configured name of the environment. */
  readonly environment: string;
  readonly scenarios: readonly ScenarioEntry[];
  /** Short name of the served scenario. Undefined: the only playable one, or the one that `reset` names. */
  readonly scenario: string | undefined;
}

/** The episode that a `reset` asks for. */
export interface EpisodeTask {
  readonly scenario: string;
  readonly args: JsonObject;
  readonly seed: number | null;
  /** Id that the client chose for the episode. */
  readonly episodeId: string | null;
}

/** Finds the task of a `reset`: a scenario with arguments, a task by its id or seed, or the next task. */
export class TaskChoice {
  readonly #options: TaskChoiceOptions;
  readonly #served: readonly ScenarioEntry[];
  /** Tasks are read once, so a seed means the same task while the server runs. */
  readonly #tasks = new Map<string, Promise<readonly Task[]>>();
  readonly #next = new Map<string, number>();

  /** @throws OpenEnvError for an unknown scenario; otherwise as `playableAmong`. */
  constructor(options: TaskChoiceOptions) {
    const { scenario, scenarios, environment } = options;
    this.#options = options;
    if (scenarios.length === 0) throw new Error(`${environment} has no scenario: there is nothing to serve.`);
    const named = scenario === undefined ? scenarios : [this.#find(scenario)];
    const playable = playableAmong(
      named.map((entry) => ({ entry })),
      options,
    );
    this.#served = playable.map(({ entry }) => entry);
  }

  /** Short names of the scenarios that clients may ask for. */
  get names(): readonly string[] {
    return this.#served.map(({ short_name }) => short_name);
  }

  get #only(): ScenarioEntry | undefined {
    return this.#served.length === 1 ? this.#served[0] : undefined;
  }

  /**
   * @param data body of a `reset`, not validated.
   * @throws OpenEnvError VALIDATION_ERROR; ApiError invalid_scenario_args; also as `assertPlayable` and
   * `tasksOfScenario`.
   */
  async choose(data: JsonObject): Promise<EpisodeTask> {
    const { seed, episode_id, task_id, ...rest } = parse(resetSchema, data);
    const given: JsonObject = isJsonObject(rest) ? rest : {};
    const { entry, args } = this.#scenarioOf(given);
    assertPlayable(entry, this.#options.judge);
    const asked = { args, seed: seed ?? null, taskId: task_id ?? null };
    const chosen = await this.#argsOf(entry, asked);
    checkScenarioArgs(entry, chosen);
    return { scenario: entry.short_name, args: chosen, seed: asked.seed, episodeId: episode_id ?? null };
  }

  /** Finds the scenario. If one is fixed, `scenario` is an ordinary argument. */
  #scenarioOf(given: JsonObject): { readonly entry: ScenarioEntry; readonly args: JsonObject } {
    const { scenario, ...args } = given;
    const only = this.#only;
    if (only !== undefined && (scenario === undefined || hasArgument(only, 'scenario')))
      return { entry: only, args: given };
    if (typeof scenario !== 'string') {
      const message = `scenario has to be one of ${this.names.join(', ')}${scenario === undefined ? ': the environment has several' : ''}.`;
      throw invalidField('scenario', message);
    }
    if (only !== undefined && only.short_name !== scenario) {
      throw invalidField('scenario', `This server serves the scenario ${only.short_name} alone.`);
    }
    return { entry: only ?? this.#find(scenario), args };
  }

  async #argsOf(entry: ScenarioEntry, asked: RequestedTask): Promise<JsonObject> {
    const { args, seed, taskId } = asked;
    const hasArgs = Object.keys(args).length > 0;
    if (hasArgs && taskId !== null)
      throw invalidField('task_id', 'Give either task_id, or the arguments of the scenario.');
    const withSeed = seed !== null && hasArgument(entry, 'seed') ? { ...args, seed } : args;
    if (hasArgs) return withSeed;
    const all = await this.#tasksOf(entry.short_name);
    if (taskId !== null) return taskOf(all, taskId, entry).args;
    const train = all.filter((task) => splitOf(task) === 'train');
    const tasks = train.length > 0 ? train : all;
    if (tasks.length === 0) return withSeed;
    return tasks[(seed ?? this.#takeNext(entry.short_name)) % tasks.length]?.args ?? {};
  }

  #tasksOf(scenario: string): Promise<readonly Task[]> {
    const known = this.#tasks.get(scenario);
    if (known !== undefined) return known;
    const tasks = tasksOfScenario(this.#options, this.#options.environment, scenario);
    this.#tasks.set(scenario, tasks);
    // A failed reading is not cached.
    tasks.catch(() => this.#tasks.delete(scenario));
    return tasks;
  }

  #takeNext(scenario: string): number {
    const next = this.#next.get(scenario) ?? 0;
    this.#next.set(scenario, next + 1);
    return next;
  }

  #find(name: string): ScenarioEntry {
    const { scenarios, environment } = this.#options;
    const found = scenarios.find(({ short_name, name: full }) => short_name === name || full === name);
    if (found !== undefined) return found;
    const names = scenarios.map(({ short_name }) => short_name).join(', ');
    throw invalidField(
      'scenario',
      `${environment} has no scenario ${JSON.stringify(name.slice(0, 100))}; it has ${names}.`,
    );
  }
}

interface RequestedTask {
  readonly args: JsonObject;
  readonly seed: number | null;
  readonly taskId: string | null;
}

function hasArgument({ arguments: own }: ScenarioEntry, name: string): boolean {
  return own.some((argument) => argument.name === name);
}

function taskOf(tasks: readonly Task[], id: string, { short_name }: ScenarioEntry): Task {
  const found = tasks.find((task) => task.id === id);
  if (found !== undefined) return found;
  const message = `${short_name} has no task ${JSON.stringify(id.slice(0, 100))}; it has ${tasks.length} tasks.`;
  throw invalidField('task_id', message);
}
