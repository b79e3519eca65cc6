import type { Bench } from './bench.ts';
import { differenceOf } from './compare-played.ts';
import type { Subject } from './finding.ts';
import type { OpenSession, Played } from './play.ts';
import { Turnstile } from './turnstile.ts';

/** Plays the trajectory of a task again. */
export type PlayAgain = (
  subject: Subject,
  how: { readonly open: OpenSession; readonly around?: ReturnType<Turnstile['around']> },
) => Promise<Played>;

/** Two tasks. */
export type Pair = readonly [Subject, Subject];

/** A session that observed something else than it does alone. */
export interface Disturbed {
  readonly subject: Subject;
  readonly beside: Subject;
  readonly played: Played;
  readonly difference: string;
}

/**
 * Plays two tasks at one time, request by request in turns, beginning with each of them.
 *
 * @param opens where the one and the other session are.
 * @returns the first that observed something else than alone; undefined where the time was over before that was seen.
 */
export async function interleave(
  pair: Pair,
  bench: Bench,
  again: PlayAgain,
  opens: readonly [OpenSession, OpenSession],
  orders: readonly Pair[] = [pair, [pair[1], pair[0]]],
): Promise<Disturbed | undefined> {
  for (const order of orders) {
    if (bench.budget.isOver('isolated', order[0].task)) return undefined;
    const turnstile = new Turnstile(2, bench.signal);
    const both = await Promise.all(
      order.map(async (subject, index) => {
        const open = opens[index] as OpenSession;
        return await again(subject, { open, around: turnstile.around(index) }).finally(() => turnstile.leave(index));
      }),
    );
    for (const [index, subject] of order.entries()) {
      const played = both[index] as Played;
      const difference = differenceOf(subject.solved, played);
      if (difference !== undefined) return { subject, beside: order[1 - index] as Subject, played, difference };
    }
  }
  return undefined;
}
