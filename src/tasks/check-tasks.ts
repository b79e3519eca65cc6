import type { JsonObject } from '../contract/json.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import type { SchemaIssue } from '../schema/json-schema.ts';
import type { Taskset } from './taskset.ts';

/** `client/catalogue` is one. */
export interface ScenarioCatalogue {
  find(environment: string, scenario: string): Promise<ScenarioEntry>;
  /** Everything that is wrong with the arguments of a scenario. */
  argumentIssues(entry: ScenarioEntry, args: JsonObject): readonly SchemaIssue[];
}

/**
 * Checks environment, scenario and arguments of every task before any of them runs. Each scenario is looked up once.
 *
 * @throws TasksRefused with the place of each problem: the line of a file, or `tasks[3].args.id`.
 * @throws BoundaryError `environment` where one cannot be started.
 */
export async function checkTasks(
  _taskset: Taskset,
  _catalogue: ScenarioCatalogue,
  _signal?: AbortSignal,
): Promise<void> {
  throw new Error('not yet');
}
