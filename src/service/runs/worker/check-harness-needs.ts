import type { ScenarioEntry } from '../../../contract/scenario.ts';
import type { Budget } from '../../../contract/service/evaluation.ts';
import type { EventOf } from '../../../contract/service/event.ts';
import { checkScenarioNeeds } from '../../../environment/client/scenario-needs.ts';
import type { ScenarioCatalogue } from '../../../evaluation/tasks/check-tasks.ts';
import type { Taskset } from '../../../evaluation/tasks/taskset.ts';
import type { Models } from '../../../models/gateway/create-model.ts';
import { checkHarnessModels } from '../../../models/gateway/harness-models.ts';

/** Models that a request names for its harness. Null: the scenario's, else the configured ones. */
export interface HarnessModelNames {
  readonly user_model: string | null;
  readonly judge_model: string | null;
}

/**
 * Checks that the simulated user and the judge of one run have a model.
 *
 * @throws ApiError as `checkHarnessNeeds`
 */
export function checkRunHarness(
  scenario: ScenarioEntry,
  {
    user_model,
    judge_model,
    scenario_args,
    user_script,
  }: HarnessModelNames & Pick<EventOf<'run.queued'>, 'scenario_args' | 'user_script'>,
  models: Models,
): void {
  checkScenarioNeeds(scenario, { args: scenario_args, user_script }, namedFor({ user_model, judge_model }, models));
  checkHarnessModels(models, { user_model, judge_model });
}

/**
 * Checks that the simulated users and judges of all tasks have a model, after the tasks were validated. With a budget
 * in US dollars they also need a price.
 *
 * @throws ApiError `invalid_parameter` or `model_not_found` with the field, `user_model` or `judge_model`;
 *   `invalid_parameter` with `budget.usd`.
 */
export async function checkHarnessNeeds(
  { tasks }: Pick<Taskset, 'tasks'>,
  { user_model, judge_model, budget }: HarnessModelNames & { readonly budget?: Budget | null | undefined },
  { catalogue, models }: { readonly catalogue: Pick<ScenarioCatalogue, 'find'>; readonly models: Models },
): Promise<void> {
  checkHarnessModels(models, { user_model, judge_model });
  const named = namedFor({ user_model, judge_model }, models);
  const entries = new Map<string, ScenarioEntry>();
  // Models of the request are always checked. Configured ones may belong to other scenarios.
  const asked = new Set([user_model, judge_model]);
  for (const task of tasks) {
    const key = JSON.stringify([task.env, task.scenario]);
    const entry = entries.get(key) ?? (await catalogue.find(task.env, task.scenario));
    entries.set(key, entry);
    checkScenarioNeeds(entry, task, named);
    for (const need of entry.needs ?? []) asked.add(named[need] ?? null);
  }
  const { checkPrices } = await import('../../../evaluation/evaluations/limits/check-limits.ts');
  const priced = [...asked].filter((name) => name !== null);
  checkPrices(
    priced.map((model) => ({ model, target: model, gateway: null })),
    budget,
    (model) => models.canPrice(model),
  );
}

function namedFor({ user_model, judge_model }: HarnessModelNames, { harness }: Pick<Models, 'harness'>) {
  return { user: user_model ?? harness.user, judge: judge_model ?? harness.judge };
}
