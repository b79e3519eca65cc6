import {
  GRADED_OUTCOMES,
  missingOutcomes,
  type Outcome,
  type OutcomeCounts,
  outcomeSchema,
} from '../../../contract/service/outcome.ts';
import { grouped } from '../../../support/text/figures.ts';

const WORDS: Readonly<Record<Outcome, string>> = {
  graded: 'graded',
  limit: 'stopped at a limit',
  refused: 'refused by the model',
  agent_error: 'broken by the agent',
  model_error: 'without an answer of the model',
  infra_error: 'lost to environment or worker',
  grader_error: 'not graded: setup or evaluation threw',
  invalid: 'invalid: the agent had no tools',
  over_budget: 'over the budget',
  cancelled: 'cancelled',
};

/** Advice for each outcome that leaves an attempt without a reward. */
const WAYS_OUT: Readonly<Partial<Record<Outcome, string>>> = {
  model_error: 'Look at the gateway, its key and its limits; then run them again.',
  infra_error: 'Look at a trace: the environment, its process or the network failed; then run them again.',
  grader_error: 'Mend the scenario: its setup or its evaluation threw; then run them again.',
  invalid: 'Look at how the agent gets its tools; then run them again.',
  over_budget: 'Give the same command a higher --budget: it goes on with them.',
};

/** Lists outcomes: `700 graded, 84 stopped at a limit`. Outcomes with a reward come first. */
export function describeOutcomes(counts: OutcomeCounts): string {
  const told = outcomeSchema.options.flatMap((outcome) => {
    const count = counts[outcome] ?? 0;
    return count === 0 ? [] : [`${grouped(count)} ${WORDS[outcome]}`];
  });
  return told.join(', ') || 'none yet';
}

export function wordsOf(outcome: Outcome): string {
  return WORDS[outcome];
}

/** Advice for an outcome; undefined if nothing has to be done. */
export function wayOutOf(outcome: Outcome): string | undefined {
  return WAYS_OUT[outcome];
}

/** Number of ended attempts without a reward. */
export function countMissing(counts: OutcomeCounts): number {
  return missingOutcomes(counts).reduce((sum, outcome) => sum + (counts[outcome] ?? 0), 0);
}

export function countDone(counts: OutcomeCounts): number {
  return outcomeSchema.options.reduce((sum, outcome) => sum + (counts[outcome] ?? 0), 0);
}

export function countValid(counts: OutcomeCounts): number {
  return GRADED_OUTCOMES.reduce((sum, outcome) => sum + (counts[outcome] ?? 0), 0);
}
