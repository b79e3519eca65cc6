import { type DeclaredTasks, loadDeclaredTasks } from '../../tasks/find-tasksets.ts';
import type { DatasetParts } from './dataset-request.ts';

/** The tasks that scenarios of known environments declare; none for a scenario that declares none. */
export function declaredTasksBy(declared: DeclaredTasks): NonNullable<DatasetParts['declaredTasks']> {
  return async (env, scenario, signal) => {
    signal.throwIfAborted();
    if (!declared.environments().includes(env)) return [];
    if (!(await declared.declaringScenarios(env)).includes(scenario)) return [];
    return (await loadDeclaredTasks(declared, env, scenario)).tasks;
  };
}
