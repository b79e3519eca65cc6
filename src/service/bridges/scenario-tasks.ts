import type { Task } from '../../contract/task.ts';
import type { Catalogue } from '../../environment/client/catalogue.ts';
import { loadDeclaredTasks } from '../../evaluation/tasks/find-tasksets.ts';
import { compareIds } from '../../evaluation/tasks/taskset.ts';

export interface ScenarioTasksOptions {
  readonly catalogue: Pick<Catalogue, 'declaringScenarios' | 'declaredTasks'>;
  /** Tasks that replace those that the scenarios declare. */
  readonly taskset: readonly Task[] | undefined;
}

/** The tasks of a scenario by id; empty if it declares none. @throws as `loadDeclaredTasks`. */
export async function tasksOfScenario(
  { catalogue, taskset }: ScenarioTasksOptions,
  environment: string,
  scenario: string,
): Promise<readonly Task[]> {
  if (taskset !== undefined) {
    const own = taskset.filter((task) => task.env === environment && task.scenario === scenario);
    return own.sort((a, b) => compareIds(a.id, b.id));
  }
  if (!(await catalogue.declaringScenarios(environment)).includes(scenario)) return [];
  return (await loadDeclaredTasks(catalogue, environment, scenario)).tasks;
}

export type SplitName = 'train' | 'validation' | 'test';

/** Split of a task. Default `train`. */
export function splitOf({ split }: Task): SplitName {
  return split ?? 'train';
}
