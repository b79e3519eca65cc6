import { BoundaryError } from '../../contract/errors.ts';
import type { OnWait } from '../../models/gateway/call-guard.ts';
import { startDeadline } from '../../support/runtime/start-deadline.ts';
import { RunTimeoutError } from './limits.ts';
import type { RunOptions } from './run.ts';

/** Measures the time of a run. */
export interface RunClock {
  /**
   * Aborted when the time is over. The reason is a BoundaryError of the model if the run was waiting between two tries,
   * otherwise a RunTimeoutError.
   */
  readonly signal: AbortSignal;
  /** Remaining time in milliseconds. */
  remainingMs(): number;
  /** Starts the time, if it has not started, when the environment starts. */
  begin(): void;
  /** Called when model calls have to wait. */
  readonly onWait: OnWait;
  clear(): void;
}

/**
 * Starts the clock. The time of an evaluation's task stops while the gateway makes it wait: between tries, for its call
 * limit or for its budget. The time of any other run goes on (contract sections 3 and 7).
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
