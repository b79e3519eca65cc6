import { createCatalogue } from '../../client/catalogue.ts';
import type { NewEvaluation } from '../../evaluations/evaluation-store.ts';
import { RegisteredModels } from '../../model/registered-models.ts';
import { checkAgent } from '../../run-service/check-agent.ts';
import { checkHarnessNeeds } from '../../run-service/check-harness-needs.ts';
import { checkTasks } from '../../tasks/check-tasks.ts';
import { createTasksets } from '../../tasks/find-tasksets.ts';
import type { Taskset } from '../../tasks/taskset.ts';
import { UsageError } from '../failure.ts';
import type { Installation } from '../installation.ts';
import { createStore } from './create-store.ts';
import type { EvalSettings } from './eval-options.ts';
import { chooseTasks, readTasksetAt, subset, tasksetName } from './load-tasks.ts';
import { LOCAL } from './local-evaluations.ts';
import type { Evaluations } from './open-evaluations.ts';
import { missingOutcomes } from './outcome-words.ts';

export interface Begun {
  readonly evaluationId: string;
  /** False: it was there, and goes on. */
  readonly isNew: boolean;
}

/** An evaluation in the database of this directory. */
export async function beginHere(
  settings: EvalSettings,
  place: Evaluations & { readonly installation: Installation },
  stop: AbortSignal,
): Promise<Begun> {
  const { installation } = place;
  const played = await playedBy(settings, installation);
  const taskset = await loadTasks(settings, installation, stop);
  const wanted = { ...toEvaluation(settings, taskset), ...played };
  const store = createStore(installation);
  if (settings.ends === undefined) return await store.create(wanted, { resume: !settings.isNew });
  const earlier = await store.find(wanted);
  if (earlier === undefined) {
    throw new UsageError(
      `--only ${settings.ends} looks at an earlier evaluation, and there is none of these settings.`,
    );
  }
  if (settings.ends === 'errored') {
    await runErroredAgain(earlier, settings, place);
    return { evaluationId: earlier, isNew: false };
  }
  const failed = subset(taskset, await failedTasks(earlier, settings, place));
  if (failed.tasks.length === 0) throw new UsageError(`No task of ${earlier} is below the threshold.`);
  const child = { ...wanted, taskset: failed, parent: earlier };
  // Where every task has failed, its tasks are those of the earlier one.
  const isOther = (await store.find(child)) !== earlier;
  return await store.create(child, { resume: isOther && !settings.isNew });
}

async function loadTasks(settings: EvalSettings, installation: Installation, stop: AbortSignal): Promise<Taskset> {
  const { directory, environments } = installation;
  const catalogue = createCatalogue(environments);
  try {
    const taskset =
      (await readTasksetAt(settings.taskset, directory, stop)) ??
      (await createTasksets({ directory, declared: catalogue }).load(tasksetName(settings.taskset), stop));
    const chosen = chooseTasks(taskset, settings.filters);
    await checkTasks(chosen, catalogue, stop);
    const { userModel: user_model, judgeModel: judge_model, budget } = settings;
    await checkHarnessNeeds(chosen, { user_model, judge_model, budget }, { catalogue, models: installation.models });
    return chosen;
  } finally {
    await catalogue.close();
  }
}

function toEvaluation(settings: EvalSettings, taskset: Taskset): NewEvaluation {
  const { name, models, attempts, maxSteps, timeoutSeconds, sampling, seed, passThreshold, metadata } = settings;
  return {
    ...{ account: LOCAL, keyId: null, name, taskset, models, attempts, maxSteps, timeoutSeconds, sampling, seed },
    ...{ userModel: settings.userModel, judgeModel: settings.judgeModel },
    ...{ passThreshold, metadata, concurrency: settings.concurrency, budget: settings.budget },
  };
}

/** The models and the agent, checked. */
async function playedBy(
  { agent, models }: EvalSettings,
  installation: Installation,
): Promise<Pick<NewEvaluation, 'models' | 'agent' | 'agentVersion'>> {
  const { agents } = installation;
  const registered = new RegisteredModels(installation.database);
  const check = async (model: string) => {
    const resolved = await registered.resolve(LOCAL, model);
    installation.models.check(resolved);
    return resolved.target;
  };
  const playing = await checkAgent({ agent, models }, installation, check, true);
  if (playing === undefined) throw new UsageError(`Name a model for the agent ${agent} with --model.`);
  return agent === null ? { models: playing } : { models: playing, agent, agentVersion: agents.find(agent).version };
}

/** Attempts without a reward; one that runs already, or whose budget is used up, goes on by itself or by a higher budget. */
async function runErroredAgain(evaluationId: string, settings: EvalSettings, { client }: Evaluations): Promise<void> {
  const { attempts, concurrency, budget } = settings;
  const { reports, attempts: known } = await client.get(evaluationId);
  const patch = {
    ...(attempts > known ? { attempts } : {}),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(budget === undefined ? {} : { budget }),
  };
  if (Object.keys(patch).length > 0) await client.update(evaluationId, patch);
  const outcomes = [...new Set(reports.flatMap((report) => missingOutcomes(report.outcomes)))];
  const again = outcomes.filter((outcome) => outcome !== 'over_budget');
  if (again.length > 0) await client.rerun(evaluationId, again);
}

/** Tasks whose mean is below the threshold with one of the models. */
async function failedTasks(
  evaluationId: string,
  { passThreshold }: EvalSettings,
  { client }: Evaluations,
): Promise<ReadonlySet<string>> {
  const failed = new Set<string>();
  for await (const { task_id, mean } of client.allTasks(evaluationId, { limit: 1_000 })) {
    if (mean !== null && mean < passThreshold) failed.add(task_id);
  }
  return failed;
}
