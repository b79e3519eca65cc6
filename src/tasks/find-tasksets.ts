import type { DeclaredTask, TasksetList } from '../contract/task.ts';
import type { Taskset } from './taskset.ts';

/** The tasks that scenarios declare: `client/catalogue` has them. */
export interface DeclaredTasks {
  /** Names of the environments. */
  environments(): readonly string[];
  /** Short names of the scenarios of an environment that declare tasks. @throws what keeps it from being read. */
  declaringScenarios(environment: string): Promise<readonly string[]>;
  /** @throws BoundaryError `environment` with what the author's function threw. */
  declaredTasks(environment: string, scenario: string): Promise<readonly DeclaredTask[]>;
}

export interface TasksetsOptions {
  /** The folder `tasksets` is looked for in it. */
  readonly directory: string;
  readonly declared: DeclaredTasks;
}

/** The tasksets of a working directory and its environments. Each is read whenever it is asked for. */
export interface Tasksets {
  /** In order of name. One that cannot be read is listed with the reason. */
  list(signal?: AbortSignal): Promise<TasksetList['data']>;
  /**
   * @param name the path of a file in `tasksets`, without its ending, `<environment>/<scenario>`, or `<environment>` for
   *   the tasks of all its scenarios. Never another path.
   * @throws ApiError `taskset_not_found` that lists those that there are. @throws TasksRefused for one that is not valid.
   */
  load(name: string, signal?: AbortSignal): Promise<Taskset>;
}

export function createTasksets(_options: TasksetsOptions): Tasksets {
  throw new Error('not yet');
}
