import { isEnded } from '../../../contract/service/ended.ts';
import type { EvaluationDetail, EvaluationInput } from '../../../contract/service/evaluation.ts';
import { grouped } from '../../../support/text/figures.ts';
import { readTasksetAt, tasksetName } from '../../base/load-tasks.ts';
import type { Place } from '../../base/place.ts';
import { type EvalOptions, toEvaluationInput } from './eval-options.ts';
import type { ProgressView } from './live-view.ts';

export interface Beginning {
  readonly place: Pick<Place, 'client'>;
  readonly view: ProgressView;
  readonly stop: AbortSignal;
}

/**
 * Creates the evaluation that a command asks for, or finds the one to continue and prints a note.
 *
 * @throws UsageError or ApiError for any fault of the command, before a run starts.
 */
export async function begin(
  typed: string | undefined,
  options: EvalOptions,
  { place, view, stop }: Beginning,
): Promise<EvaluationDetail> {
  const { taskset, ...settings } = toEvaluationInput(typed, options);
  const { evaluations } = place.client;
  const tasks = await readTasks(taskset, stop);
  // It is created paused: if Ctrl-C comes before the answer, nobody knows its id, and it must not run.
  const wanted = { ...settings, ...tasks, paused: true };
  const { evaluation_id, is_new } = await evaluations.create(wanted, { signal: stop });
  const evaluation = await evaluations.get(evaluation_id);
  if (!is_new) view.note(describeResumed(evaluation));
  const stays = stop.aborted && options.detach !== true;
  return evaluation.status === 'paused' && !stays ? await evaluations.resume(evaluation_id) : evaluation;
}

/** Reads the tasks of a file. For a name it sends the name, since the service knows its tasksets. */
async function readTasks(typed: string, stop: AbortSignal): Promise<Pick<EvaluationInput, 'tasks' | 'tasks_from'>> {
  const found = await readTasksetAt(typed, process.cwd(), stop);
  if (found === undefined) return { tasks: tasksetName(typed) };
  const { name, tasks, origin } = found;
  const { by, positions } = origin;
  return { tasks: [...tasks], tasks_from: { name, file: origin.file ?? typed, by, positions: [...positions] } };
}

function describeResumed(evaluation: EvaluationDetail): string {
  const { evaluation_id, progress, status } = evaluation;
  const done = `${grouped(progress.done)} of ${grouped(progress.total)} attempts are done`;
  if (isEnded(status)) return `${evaluation_id} is ${status}: ${done}. --new begins another one.`;
  return `Going on with ${evaluation_id}: ${done}.`;
}
