import { z } from 'zod';

/** Outcomes with a reward: they say something about the model. */
export const GRADED_OUTCOMES = ['graded', 'limit', 'refused', 'agent_error'] as const;
/** Outcomes that are run again by themselves: they say nothing about the model. */
export const RERUN_OUTCOMES = ['model_error', 'infra_error', 'grader_error', 'invalid'] as const;

/**
 * How an attempt ended (contract section 7): `graded` by its evaluation; `limit` of steps, length or time, graded as it
 * stands; `refused` by the model; `agent_error`, reward 0; `model_error` of the gateway; `infra_error` of environment,
 * worker or network; `grader_error` of setup or evaluation; `invalid`, an own agent without its tools; `over_budget`;
 * `cancelled`.
 */
export const outcomeSchema = z.enum([...GRADED_OUTCOMES, ...RERUN_OUTCOMES, 'over_budget', 'cancelled']);
export type Outcome = z.infer<typeof outcomeSchema>;

/** Counts of attempts by outcome; those that none has are left out. */
export const outcomeCountsSchema = z.partialRecord(outcomeSchema, z.int());
export type OutcomeCounts = z.infer<typeof outcomeCountsSchema>;

export function isGradedOutcome(outcome: Outcome): boolean {
  return (GRADED_OUTCOMES as readonly Outcome[]).includes(outcome);
}

export function isRerunOutcome(outcome: Outcome): boolean {
  return (RERUN_OUTCOMES as readonly Outcome[]).includes(outcome);
}
