import { ApiError } from '../../contract/errors.ts';
import { readDeclaredTasks, readDeclaringScenarios } from '../../environment/client/declared-tasks.ts';
import type { CallOptions } from '../../environment/client/environment-client.ts';
import type { McpEnvironmentClient } from '../../environment/client/mcp-environment-client.ts';
import { argumentIssues } from '../../environment/client/scenario-args.ts';
import { checkTasks } from '../tasks/check-tasks.ts';
import { loadDeclaredTasks } from '../tasks/find-tasksets.ts';
import type { DeclaredTask } from './task.ts';

/** The tasks of one scenario, or of all, as an evaluation would take them: checked, in order of id. */
export async function declaredTasksOf(
  client: McpEnvironmentClient,
  scenario: string | undefined,
  options: CallOptions = {},
): Promise<readonly DeclaredTask[]> {
  const all = await client.scenarios(options);
  const find = async (_environment: string, name: string) => {
    const entry = all.find(({ short_name }) => short_name === name);
    if (entry === undefined) throw new ApiError('scenario_not_found', `There is no scenario ${JSON.stringify(name)}`);
    return entry;
  };
  const declaredTasks = (_environment: string, name: string) => readDeclaredTasks(client, name, options);
  const found: DeclaredTask[] = [];
  for (const name of scenario === undefined ? await readDeclaringScenarios(client, options) : [scenario]) {
    const taskset = await loadDeclaredTasks({ declaredTasks }, client.name, name);
    await checkTasks(taskset, { find, argumentIssues }, options.signal);
    for (const { id, args, split, tags, cluster, user_script } of taskset.tasks) {
      const script = user_script === undefined ? {} : { user_script };
      found.push({ id, scenario: name, scenario_args: args, split, tags, cluster, ...script });
    }
  }
  return found;
}
