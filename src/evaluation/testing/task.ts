import type { JsonObject } from '../../contract/json.ts';

/** A scenario with its arguments, as the `with` of its handle gives it. */
export interface Task {
  /** Its name, short or full. */
  readonly scenario: string;
  readonly scenario_args: object;
  /** Lines of its user, for `proctor/user-script`. */
  readonly user_script?: readonly string[] | undefined;
}

/** A task that a scenario declares, with its arguments checked. */
export interface DeclaredTask extends Task {
  readonly id: string;
  readonly split: 'train' | 'validation' | 'test' | null;
  readonly tags: readonly string[];
  /** The id where the author names no other. */
  readonly cluster: string;
}

interface ReadTask<Options> {
  readonly scenario: string;
  readonly args: JsonObject;
  readonly userScript?: readonly string[] | undefined;
  readonly options: Options | undefined;
}

/** Arguments of a method that takes a task and options, or a scenario's name, its arguments and options. */
export type TaskArguments<Options> =
  | readonly [task: Task, options?: Options]
  | readonly [scenario: string, args?: object, options?: Options];

/** Reads both forms. The arguments are copied as JSON, which is how any transport would carry them. */
export function readTask<Options>(given: TaskArguments<Options>): ReadTask<Options> {
  const [first] = given;
  if (typeof first !== 'string') {
    const [task, options] = given as readonly [Task, Options?];
    return {
      scenario: task.scenario,
      args: toJson(task.scenario_args),
      userScript: task.user_script,
      options,
    };
  }
  const [scenario, args = {}, options] = given as readonly [string, object?, Options?];
  return { scenario, args: toJson(args), options };
}

function toJson(args: object): JsonObject {
  return JSON.parse(JSON.stringify(args));
}
