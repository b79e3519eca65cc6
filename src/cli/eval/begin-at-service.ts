import { loadProject } from '../../config/project.ts';
import type { EvaluationInput } from '../../contract/evaluation.ts';
import { createServiceClient } from '../../service-client/service-client.ts';
import { UsageError } from '../failure.ts';
import { findKey } from '../service-key.ts';
import type { Begun } from './begin-here.ts';
import type { EvalSettings } from './eval-options.ts';
import type { Workplace } from './follow-command.ts';
import { chooseTasks, readTasksetAt, tasksetName } from './load-tasks.ts';

/** Evaluations in which the one that goes on is looked for, to say so. */
const LOOKED_AT = 100;

/** An evaluation of a run service, which checks it, and whose workers execute it. */
export async function beginAtService(settings: EvalSettings, place: Workplace, stop: AbortSignal): Promise<Begun> {
  const { client, service = '' } = place;
  const { ends, filters, taskset, isNew } = settings;
  if (ends !== undefined) {
    const way = ends === 'errored' ? `: "proctor eval rerun <id> --service ${service}" does the same` : '';
    throw new UsageError(`--only ${ends} is for evaluations of this directory${way}.`);
  }
  const project = await loadProject();
  const file = await readTasksetAt(taskset, project.directory, stop);
  if (file === undefined && filters.length > 0) {
    throw new UsageError('--only chooses among the tasks of a file: those of a name are known to the service alone.');
  }
  const tasks = file === undefined ? tasksetName(taskset) : [...chooseTasks(file, filters).tasks];
  const { data } = await client.list({ limit: LOOKED_AT, ...(settings.name === null ? {} : { name: settings.name }) });
  const { evaluations } = createServiceClient({ baseUrl: service, apiKey: findKey(project, service) });
  const { evaluation_id } = await evaluations.create(toInput(settings, tasks, !isNew), { signal: stop });
  return { evaluationId: evaluation_id, isNew: !data.some((known) => known.evaluation_id === evaluation_id) };
}

function toInput(settings: EvalSettings, tasks: EvaluationInput['tasks'], resume: boolean): EvaluationInput {
  const { name, attempts, seed, sampling, concurrency, budget, metadata, models, agent } = settings;
  return {
    ...{ name, tasks, models: [...models], agent, attempts, seed, sampling, metadata: { ...metadata }, resume },
    user_model: settings.userModel,
    judge_model: settings.judgeModel,
    max_steps: settings.maxSteps,
    timeout_seconds: settings.timeoutSeconds,
    pass_threshold: settings.passThreshold,
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(budget === undefined ? {} : { budget }),
  };
}
