import type { Finding, Subject } from '../finding.ts';
import type { OpenSession, PlayedSession } from '../player/play.ts';
import type { SessionPlayer } from '../player/session-player.ts';
import { shiftedClock } from '../player/shifted-clock.ts';
import { differenceOf } from './compare-played.ts';

/** Repeats a task's trajectory. */
export type Replay = (open: OpenSession | undefined) => Promise<PlayedSession>;

/** Checks that sessions with the same seed are the same, in two processes and on another day. */
export async function deterministic(
  { task, solved }: Pick<Subject, 'task' | 'solved'>,
  bench: SessionPlayer,
  replay: Replay,
  isThorough: boolean,
): Promise<readonly Finding[]> {
  const toFound = (played: PlayedSession, message: string): Finding => ({
    finding: 'deterministic',
    level: 'error',
    task,
    played,
    message,
  });
  const again = await replay(isThorough ? bench.places.alone() : undefined);
  bench.coverage.tried('deterministic', { task });
  const difference = differenceOf(solved, again);
  if (difference !== undefined) {
    const hint = 'Draw by ctx.seed, or declare the part volatile';
    return [toFound(again, `Two sessions of the seed ${bench.seed} differ in ${difference}. ${hint}.`)];
  }
  if (!isThorough) return [];
  if (bench.places.kind !== 'module') {
    const why = 'the clock of another day is set in processes of modules alone';
    bench.coverage.notTried('deterministic', why, { scenario: task.scenario.short_name });
    return [];
  }
  if (bench.budget.isOver('deterministic', task)) return [];
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
