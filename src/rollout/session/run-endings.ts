import type { RunErrorBody } from '../../contract/error-shapes.ts';
import type { EventOf } from '../../contract/service/event.ts';

/** The end of a run that was cancelled and that no worker executes any more. */
export const CANCELLED: EventOf<'run.finished'> = {
  type: 'run.finished',
  status: 'cancelled',
  stop_reason: 'cancelled',
  reward: null,
  error: null,
};

/** The end of a run that could not be executed. */
export function failedByWorker(message: string): EventOf<'run.finished'> {
  return failedBy({ boundary: 'worker', code: 'internal_error', message });
}

/** The end of a run that was lost too often. */
export function failedBy(error: RunErrorBody): EventOf<'run.finished'> {
  return { type: 'run.finished', status: 'failed', stop_reason: 'error', reward: null, error };
}
