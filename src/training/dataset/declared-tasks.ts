import { type DeclaredTasks, loadDeclaredTasks } from '../../evaluation/tasks/find-tasksets.ts';
import type { DatasetParts } from './dataset-request.ts';

/** The tasks that scenarios of known environments declare. Empty for a scenario without tasks. */
export function declaredTasksBy(declared: DeclaredTasks): NonNullable<DatasetParts['declaredTasks']> {
  return async (env, scenario, signal) => {
    signal.throwIfAborted();
    if (!declared.environments().includes(env)) return [];
    if (!(await declared.declaringScenarios(env)).includes(scenario)) return [];
    return (await loadDeclaredTasks(declared, env, scenario)).tasks;
  };
}
