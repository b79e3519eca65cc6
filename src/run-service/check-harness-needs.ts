import { checkScenarioNeeds } from '../client/scenario-needs.ts';
import type { Budget } from '../contract/evaluation.ts';
import type { EventOf } from '../contract/event.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import { checkPrices } from '../evaluations/check-limits.ts';
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
 * Checks that the users and judges of all tasks have a model, once the tasks themselves are checked, and a price where
 * the evaluation has a budget in US dollars.
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
  // Those of the request are meant to be asked; those of the configuration may serve other scenarios.
  const asked = new Set([user_model, judge_model]);
  for (const task of tasks) {
    const key = JSON.stringify([task.env, task.scenario]);
    const entry = entries.get(key) ?? (await catalogue.find(task.env, task.scenario));
    entries.set(key, entry);
    checkScenarioNeeds(entry, task, named);
    for (const need of entry.needs ?? []) asked.add(named[need] ?? null);
  }
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
