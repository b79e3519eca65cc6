import type { ResultLimits } from './result-budget.ts';

/** Time limits of a rollout's parts, in milliseconds. The run's own time limit is in the contract (section 3). */
export interface RolloutLimits {
  /** Limit of the setup. */
  readonly setupMs: number;
  /** Limit of one tool call. The agent gets an error after it, and the turn goes on. */
  readonly toolCallMs: number;
  /** Limit of the one request to a chat's model to repair its answer before the evaluation. */
  readonly repairMs: number;
  /** Limit of the evaluation. */
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

/** The reason with which a run stops when its `timeout_seconds` are over. */
export class RunTimeoutError extends Error {
  override readonly name = 'RunTimeoutError';

  /** @param limit time in words, such as `2 s`. */
  constructor(limit: string) {
    super(`The run's time of ${limit} is over`);
  }
}
