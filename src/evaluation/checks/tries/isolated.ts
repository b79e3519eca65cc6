import type { Subject } from '../finding.ts';
import type { OpenSession, PlayedSession } from '../player/play.ts';
import { RoundRobin } from '../player/round-robin.ts';
import type { SessionPlayer } from '../player/session-player.ts';
import { differenceOf } from './compare-played.ts';

/** Repeats the trajectory of a task. */
export type PlayAgain = (
  subject: Subject,
  how: { readonly open: OpenSession; readonly around?: ReturnType<RoundRobin['around']> },
) => Promise<PlayedSession>;

/** Two tasks that are played together. */
export type Pair = readonly [Subject, Subject];

/** A session that saw something different from when it was alone. */
export interface Disturbed {
  readonly subject: Subject;
  readonly beside: Subject;
  readonly played: PlayedSession;
  readonly difference: string;
}

/**
 * Plays two tasks concurrently, with requests in turns, once beginning with each.
 *
 * @param opens open the first and the second session.
 * @returns the first session that differs from when it was alone; undefined if there is none or the time was over.
 */
export async function interleave(
  pair: Pair,
  bench: SessionPlayer,
  again: PlayAgain,
  opens: readonly [OpenSession, OpenSession],
  orders: readonly Pair[] = [pair, [pair[1], pair[0]]],
): Promise<Disturbed | undefined> {
  for (const order of orders) {
    if (bench.budget.isOver('isolated', order[0].task)) return undefined;
    const turnstile = new RoundRobin(2, bench.signal);
    const both = await Promise.all(
      order.map(async (subject, index) => {
        const open = opens[index] as OpenSession;
        return await again(subject, { open, around: turnstile.around(index) }).finally(() => turnstile.leave(index));
      }),
    );
    for (const [index, subject] of order.entries()) {
      const played = both[index] as PlayedSession;
      const difference = differenceOf(subject.solved, played);
      if (difference !== undefined) return { subject, beside: order[1 - index] as Subject, played, difference };
    }
  }
  return undefined;
}
