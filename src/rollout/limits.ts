import type { ResultLimits } from './result-budget.ts';

/** Limits of the parts of a rollout; times in milliseconds. Our choice, except for the run's own time (contract section 3). */
export interface RolloutLimits {
  /** The scenario's first half. */
  readonly setupMs: number;
  /** One tool call. The agent is told when it is over; the turn goes on. */
  readonly toolCallMs: number;
  /** Asking a chat's model once more for an answer that fits, before its session is evaluated. */
  readonly repairMs: number;
  /** The scenario's second half. */
  readonly evaluateMs: number;
  /** Time for answer and evaluation after the run's own time is over. */
  readonly graceMs: number;
  /** Limits of tool results. */
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

  /** @param limit in words, such as `2 s`. */
  constructor(limit: string) {
    super(`The run's time of ${limit} is over`);
  }
}
