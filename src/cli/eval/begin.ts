import type { EvaluationDetail } from '../../contract/evaluation.ts';
import { beginAtService } from './begin-at-service.ts';
import { beginHere } from './begin-here.ts';
import { type EvalOptions, readEvalSettings } from './eval-options.ts';
import { grouped } from './figures.ts';
import { hasEnded } from './follow.ts';
import type { Workplace } from './follow-command.ts';
import type { ProgressView } from './live-view.ts';

export interface Beginning {
  readonly place: Workplace;
  readonly view: ProgressView;
  readonly stop: AbortSignal;
}

/**
 * The evaluation that a command asks for: a new one, or the one that it goes on with, which it says.
 *
 * @throws UsageError, ApiError: everything that is wrong, before anything runs.
 */
export async function begin(
  taskset: string | undefined,
  options: EvalOptions,
  { place, view, stop }: Beginning,
): Promise<EvaluationDetail> {
  const settings = readEvalSettings(taskset, options);
  const { installation } = place;
  const { evaluationId, isNew } = await (installation === undefined
    ? beginAtService(settings, place, stop)
    : beginHere(settings, { ...place, installation }, stop));
  const evaluation = await place.client.get(evaluationId);
  if (isNew) return evaluation;
  view.note(describeResumed(evaluation));
  return evaluation.status === 'paused' ? await place.client.resume(evaluationId) : evaluation;
}

function describeResumed(evaluation: EvaluationDetail): string {
  const { evaluation_id, progress, status } = evaluation;
  const done = `${grouped(progress.done)} of ${grouped(progress.total)} attempts are done`;
  if (hasEnded(evaluation)) return `${evaluation_id} is ${status}: ${done}. --new begins another one.`;
  return `Going on with ${evaluation_id}: ${done}.`;
}
