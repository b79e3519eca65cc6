import type { Bench } from './bench.ts';
import { differenceOf } from './compare-played.ts';
import type { Found, Subject } from './finding.ts';
import type { OpenSession, Played } from './play.ts';
import { shiftedClock } from './shifted-clock.ts';

/** Plays a task's trajectory again. */
export type Replay = (open: OpenSession | undefined) => Promise<Played>;

/** Two sessions of one seed have to observe the same, in two processes, and on another day. */
export async function deterministic(
  { task, solved }: Pick<Subject, 'task' | 'solved'>,
  bench: Bench,
  replay: Replay,
  isThorough: boolean,
): Promise<readonly Found[]> {
  const toFound = (played: Played, message: string): Found => ({
    ...{ finding: 'deterministic', level: 'error', task, played, message },
  });
  const again = await replay(isThorough ? bench.places.alone() : undefined);
  const difference = differenceOf(solved, again);
  if (difference !== undefined) {
    const hint = 'Draw by ctx.seed, or declare the part volatile';
    return [toFound(again, `Two sessions of the seed ${bench.seed} differ in ${difference}. ${hint}.`)];
  }
  if (!isThorough || bench.places.kind !== 'module' || bench.budget.isOver('deterministic', task)) return [];
  const later = await replay(bench.places.alone({ variables: shiftedClock() }));
  const change = differenceOf(solved, later);
  if (change === undefined) return [];
  return [
    toFound(
      later,
      `On another day it differs in ${change}. Take the time from the arguments, or declare the part volatile.`,
    ),
  ];
}
