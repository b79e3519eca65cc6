import { BoundaryError } from '../contract/errors.ts';
import type { OnWait } from '../model/call-guard.ts';
import { startDeadline } from '../runtime/start-deadline.ts';
import { RunTimeoutError } from './limits.ts';
import type { RunOptions } from './run.ts';

/** The time of a run. */
export interface RunClock {
  /**
   * Aborted when the time is over: with a BoundaryError of the model where it was between two tries, and with a
   * RunTimeoutError else.
   */
  readonly signal: AbortSignal;
  /** Milliseconds. */
  remainingMs(): number;
  /** Its environment starts: its time begins, where it has not yet. */
  begin(): void;
  /** For its model calls. */
  readonly onWait: OnWait;
  clear(): void;
}

/**
 * The time of a task does not run while the gateway has the task wait: between tries, for the limit of its calls or for its
 * budget. That of any other run does: it has its gateway's retries within its time (contract sections 3 and 7).
 */
export function startRunClock({
  request,
  waitsForPlace = false,
}: Pick<RunOptions, 'request' | 'waitsForPlace'>): RunClock {
  const isTask = request.evaluation !== undefined && request.evaluation !== null;
  let failed: Error | undefined;
  const deadline = startDeadline(request.timeout_seconds * 1_000, (limit) =>
    failed === undefined ? new RunTimeoutError(limit) : betweenTries(limit, failed),
  );
  const begin = waitsForPlace ? deadline.pause() : () => {};
  return {
    signal: deadline.signal,
    remainingMs: () => deadline.remainingMs(),
    begin,
    onWait: (why) => {
      if (isTask) return deadline.pause();
      failed = why;
      return () => {
        failed = undefined;
      };
    },
    clear: () => deadline.clear(),
  };
}

function betweenTries(limit: string, cause: Error): BoundaryError {
  const message = `The run's time of ${limit} is over, between two tries of the model. ${cause.message}`;
  const known = cause instanceof BoundaryError ? cause : undefined;
  return new BoundaryError('model', known?.code ?? 'model_failed', message, { cause, status: known?.status });
}
