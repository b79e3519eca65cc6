import type { EvaluationStatus } from './evaluation.ts';
import type { RunStatus } from './run.ts';
import type { TrainingStatus } from './training-states.ts';

type Status = RunStatus | EvaluationStatus | TrainingStatus;

const END_STATES: readonly Status[] = ['completed', 'succeeded', 'failed', 'cancelled'];

/** True when a run, an evaluation or a training job with this status is over. Database rows hold the status as text. */
export function isEnded(status: string): boolean {
  return END_STATES.some((end) => end === status);
}
