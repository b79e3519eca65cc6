import type { ResultLimits } from './result-budget.ts';

/** What each part of a rollout may take; times in milliseconds. Our choice, but for the run's own time (contract section 3). */
export interface RolloutLimits {
  /** The scenario's first half. */
  readonly setupMs: number;
  /** One tool call. The agent is told when it is over; the turn goes on. */
  readonly toolCallMs: number;
  /** Asking a chat's model once more for an answer that fits, before its session is evaluated. */
  readonly repairMs: number;
  /** The scenario's second half. */
  readonly evaluateMs: number;
  /** What is left for answer and evaluation once the run's own time is over. */
  readonly graceMs: number;
  /** What tools may answer. */
  readonly results: ResultLimits;
}

export const ROLLOUT_LIMITS: RolloutLimits = {
  setupMs: 120_000,
  toolCallMs: 300_000,
  repairMs: 120_000,
  evaluateMs: 120_000,
  graceMs: 60_000,
  results: { resultBytes: 8 * 1_024 * 1_024, traceBytes: 64 * 1_024 * 1_024 },
};

/** Why a run is stopped when its `timeout_seconds` are over. */
export class RunTimeoutError extends Error {
  override readonly name = 'RunTimeoutError';

  constructor(timeoutMs: number) {
    super(`The run's time of ${toSeconds(timeoutMs)} is over`);
  }
}

export interface Deadline {
  /** Aborted with a `RunTimeoutError` when the time is over. */
  readonly signal: AbortSignal;
  /** Milliseconds; 0 once it is over. */
  remainingMs(): number;
  /** Stops the clock. Whoever started it clears it. */
  clear(): void;
}

/** A clock that runs from now on. It does not keep the process alive. */
export function startDeadline(timeoutMs: number): Deadline {
  const controller = new AbortController();
  const endsAt = performance.now() + timeoutMs;
  const timer = setTimeout(() => controller.abort(new RunTimeoutError(timeoutMs)), timeoutMs);
  timer.unref();
  return {
    signal: controller.signal,
    remainingMs: () => Math.max(0, Math.round(endsAt - performance.now())),
    clear: () => clearTimeout(timer),
  };
}

export interface PhaseLimit {
  readonly signal: AbortSignal;
  readonly limitMs?: number;
  /** What it rejects with after `limitMs`. */
  readonly toError?: (limit: string) => Error;
}

/**
 * Runs `work` until it settles, the signal is aborted or the limit is over, whichever comes first: it rejects at once
 * then, also where `work` does not listen to the signal that it is given. Leaves no listener and no timer behind.
 *
 * @throws the reason of the signal, or `toError("2 s")`.
 */
export async function withLimit<T>(limit: PhaseLimit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { signal, limitMs, toError } = limit;
  signal.throwIfAborted();
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const stopped = new Promise<never>((_, reject) => {
    const stop = (reason: unknown) => {
      // Rejected first, so that what the work makes of its aborted signal comes too late to be the reason.
      reject(reason);
      controller.abort(reason);
    };
    onAbort = () => stop(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (limitMs === undefined) return;
    timer = setTimeout(() => stop(toError?.(toSeconds(limitMs)) ?? new Error('The limit is over')), limitMs);
  });
  try {
    return await Promise.race([stopped, work(controller.signal)]);
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}

function toSeconds(milliseconds: number): string {
  return milliseconds < 1_000 ? `${milliseconds} ms` : `${Math.round(milliseconds / 100) / 10} s`;
}
