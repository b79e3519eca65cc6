import { z } from 'zod';

/** Outcomes with a reward. They count for or against the model. */
export const GRADED_OUTCOMES = ['graded', 'limit', 'refused', 'agent_error'] as const;
/** Outcomes that are run again automatically. They do not count against the model. */
export const RERUN_OUTCOMES = ['model_error', 'infra_error', 'grader_error', 'invalid'] as const;

/**
 * Outcome of an attempt (contract section 7). `graded`: its evaluation gave a reward. `limit`: it reached the limit of
 * steps, length or time, and was graded in that state. `refused`: the model refused. `agent_error`: the agent failed;
 * reward 0. `model_error`: the gateway failed. `infra_error`: environment, worker or network failed. `grader_error`:
 * setup or evaluation failed. `invalid`: the agent had no access to its tools. `over_budget` and `cancelled` speak for
 * themselves.
 */
export const outcomeSchema = z.enum([...GRADED_OUTCOMES, ...RERUN_OUTCOMES, 'over_budget', 'cancelled']);
export type Outcome = z.infer<typeof outcomeSchema>;

/** Number of attempts by outcome. Outcomes with 0 attempts are left out. */
export const outcomeCountsSchema = z.partialRecord(outcomeSchema, z.int());
export type OutcomeCounts = z.infer<typeof outcomeCountsSchema>;

export function isGradedOutcome(outcome: Outcome): boolean {
  return (GRADED_OUTCOMES as readonly Outcome[]).includes(outcome);
}

export function isRerunOutcome(outcome: Outcome): boolean {
  return (RERUN_OUTCOMES as readonly Outcome[]).includes(outcome);
}

/** Outcomes without a reward that at least one attempt has, in the order of `outcomeSchema`. */
export function missingOutcomes(counts: OutcomeCounts): readonly Outcome[] {
  return outcomeSchema.options.filter((outcome) => !isGradedOutcome(outcome) && (counts[outcome] ?? 0) > 0);
}
