import { FORGED_ANSWERS } from '../../../models/gateway/reference/forgeries.ts';
import { countText, durationText } from '../../../support/text/figures.ts';

/** Number of tries of each kind for one task. */
export interface Tries {
  /** Agents that make random calls. */
  readonly random: number;
  /** Literals of the prompt that are repeated as answers. */
  readonly literals: number;
  readonly forgedAnswers: number;
  /** Changed solutions. */
  readonly mutants: number;
}

/** Extent of a check, which depends on the time of a session. */
export interface Effort {
  /** Tries for the first task of a scenario. */
  readonly first: Tries;
  readonly further: Tries;
  /** Sessions that measure how often random calls get a reward. */
  readonly chances: number;
  /** Pairs of tasks that are played concurrently and in sequence. */
  readonly pairs: number;
}

export const FULL_EFFORT: Effort = {
  first: { random: 3, literals: 12, forgedAnswers: FORGED_ANSWERS.length, mutants: 14 },
  further: { random: 3, literals: 12, forgedAnswers: 4, mutants: 14 },
  chances: 20,
  pairs: 4,
};

/** Effort for sessions that take seconds, such as those of a browser. */
export const SMALL_EFFORT: Effort = {
  first: { random: 3, literals: 2, forgedAnswers: 4, mutants: 5 },
  further: { random: 1, literals: 0, forgedAnswers: 1, mutants: 2 },
  chances: 10,
  pairs: 2,
};

/** Share of the time that tries are planned for, because their time is estimated. */
const PART_OF_THE_TIME = 0.4;
/** Sessions of a task that `Tries` does not count: solved, idle, repeated. */
const MORE = 6;

export interface Amount {
  readonly scenarios: number;
  readonly tasks: number;
  /** Milliseconds of a session so far. */
  readonly sessionMs: number;
  readonly atOnce: number;
  /** Remaining milliseconds. */
  readonly leftMs: number;
}

/** The full effort if it probably fits into the time, otherwise the small one. */
export function effortFor({ scenarios, tasks, sessionMs, atOnce, leftMs }: Amount): Effort {
  const { first, further } = FULL_EFFORT;
  const sessions = scenarios * sessionsOf(first) + (tasks - scenarios) * sessionsOf(further);
  return (sessions * sessionMs) / atOnce < leftMs * PART_OF_THE_TIME ? FULL_EFFORT : SMALL_EFFORT;
}

function sessionsOf({ random, literals, forgedAnswers, mutants }: Tries): number {
  return MORE + random + literals / 2 + forgedAnswers + mutants;
}

/** A small effort in words. */
export function describeSmallEffort(sessionMs: number): string {
  const { first, further } = SMALL_EFFORT;
  const words = ({ random, forgedAnswers, mutants }: Tries) =>
    `${countText(random, 'agent')} by chance, ${countText(forgedAnswers, 'forged answer')} and ${countText(mutants, 'changed solution')}`;
  return `A session takes ${durationText(sessionMs)}, so that less is tried: ${words(first)} with the first task of a scenario, ${words(further)} with each other. A higher --max-time tries all.`;
}
