import { ApiError } from '../../contract/errors.ts';
import type { Catalogue } from '../../environment/client/catalogue.ts';
import { loadDeclaredTasks } from '../../evaluation/tasks/find-tasksets.ts';
import type { DatasetParts } from './dataset-request.ts';

/** The part of a catalogue that knows what scenarios declare. */
export type DeclaringCatalogue = Pick<Catalogue, 'environments' | 'declaringScenarios' | 'declaredTasks' | 'find'>;

/** Tasks and schemas of arguments that the scenarios of known environments declare. */
export function declaredBy(
  catalogue: DeclaringCatalogue,
): Required<Pick<DatasetParts, 'declaredTasks' | 'argsSchema'>> {
  return {
    async declaredTasks(env, scenario, signal) {
      signal.throwIfAborted();
      if (!catalogue.environments().includes(env)) return [];
      if (!(await catalogue.declaringScenarios(env)).includes(scenario)) return [];
      return (await loadDeclaredTasks(catalogue, env, scenario)).tasks;
    },
    async argsSchema(env, scenario, signal) {
      signal.throwIfAborted();
      try {
        return (await catalogue.find(env, scenario)).args_schema;
      } catch (error) {
        // The environment or scenario is no longer there.
        if (error instanceof ApiError && UNKNOWN.has(error.code)) return undefined;
        throw error;
      }
    },
  };
}

const UNKNOWN: ReadonlySet<string> = new Set(['env_not_found', 'scenario_not_found']);
