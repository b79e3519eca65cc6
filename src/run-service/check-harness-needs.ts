import { checkScenarioNeeds } from '../client/scenario-needs.ts';
import type { RunRequest } from '../contract/run.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import type { Models } from '../model/create-model.ts';
import { checkHarnessModels } from '../model/harness-models.ts';
import type { ScenarioCatalogue } from '../tasks/check-tasks.ts';
import type { Taskset } from '../tasks/taskset.ts';

/** Models that a request names for its harness; null: those of the scenario, else of the configuration. */
export interface HarnessModelNames {
  readonly user_model: string | null;
  readonly judge_model: string | null;
}

/**
 * Checks that the user and the judge of one run have a model.
 *
 * @throws ApiError as `checkHarnessNeeds`
 */
export function checkRunHarness(
  scenario: ScenarioEntry,
  { user_model, judge_model, scenario_args }: HarnessModelNames & Pick<RunRequest, 'scenario_args'>,
  models: Models,
): void {
  checkScenarioNeeds(scenario, scenario_args, namedFor({ user_model, judge_model }, models));
  checkHarnessModels(models, { user_model, judge_model });
}

/**
 * Checks that the users and judges of all tasks have a model, once the tasks themselves are checked.
 *
 * @throws ApiError `invalid_parameter` or `model_not_found` with the field, `user_model` or `judge_model`.
 */
export async function checkHarnessNeeds(
  { tasks }: Pick<Taskset, 'tasks'>,
  named: HarnessModelNames,
  { catalogue, models }: { readonly catalogue: Pick<ScenarioCatalogue, 'find'>; readonly models: Models },
): Promise<void> {
  const { user_model, judge_model } = named;
  checkHarnessModels(models, { user_model, judge_model });
  const entries = new Map<string, ScenarioEntry>();
  for (const { env, scenario, args } of tasks) {
    const key = JSON.stringify([env, scenario]);
    const entry = entries.get(key) ?? (await catalogue.find(env, scenario));
    entries.set(key, entry);
    checkScenarioNeeds(entry, args, namedFor({ user_model, judge_model }, models));
  }
}

function namedFor({ user_model, judge_model }: HarnessModelNames, { harness }: Pick<Models, 'harness'>) {
  return { user: user_model ?? harness.user, judge: judge_model ?? harness.judge };
}
