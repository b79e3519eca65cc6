import { FORGED_ANSWERS } from '../../model/forgeries.ts';

/** How often a task is tried in one way. */
export interface Tries {
  /** Agents that call tools by chance. */
  readonly random: number;
  /** Literals of a prompt that are said again. */
  readonly literals: number;
  readonly forgedAnswers: number;
  /** Changes of a solution. */
  readonly mutants: number;
}

/** How much is tried: what a session costs decides it. */
export interface Effort {
  /** The first task of a scenario. */
  readonly first: Tries;
  readonly further: Tries;
  /** Sessions of a task that was paid by chance, from which the chance is measured. */
  readonly chances: number;
  /** Pairs of tasks that are played beside and after each other. */
  readonly pairs: number;
}

export const FULL_EFFORT: Effort = {
  first: { random: 3, literals: 12, forgedAnswers: FORGED_ANSWERS.length, mutants: 14 },
  further: { random: 3, literals: 12, forgedAnswers: 4, mutants: 14 },
  chances: 20,
  pairs: 4,
};

/** For sessions of seconds: those of a browser, or of graders that start processes. */
export const SMALL_EFFORT: Effort = {
  first: { random: 3, literals: 2, forgedAnswers: 4, mutants: 5 },
  further: { random: 1, literals: 0, forgedAnswers: 1, mutants: 2 },
  chances: 10,
  pairs: 2,
};

/** The share of the time that tries may be expected to take: how long they take is a guess. */
const PART_OF_THE_TIME = 0.4;
/** Sessions beside those of `Tries`: solved, idle, played again. */
const MORE = 6;

export interface Amount {
  readonly scenarios: number;
  readonly tasks: number;
  /** Milliseconds of a session, as they have been so far. */
  readonly sessionMs: number;
  readonly atOnce: number;
  /** Milliseconds. */
  readonly leftMs: number;
}

/** Everything where that is likely to fit into the time, else less of everything. */
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
  const seconds = (sessionMs / 1_000).toFixed(1);
  const words = ({ random, forgedAnswers, mutants }: Tries) =>
    `${random} agent${random === 1 ? '' : 's'} by chance, ${forgedAnswers} forged answer${forgedAnswers === 1 ? '' : 's'} and ${mutants} changed solutions`;
  return `A session takes ${seconds} s, so that less is tried: ${words(first)} with the first task of a scenario, ${words(further)} with each other. A higher --max-time tries all.`;
}
