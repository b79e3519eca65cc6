import type { EnvironmentClient } from '../../client/environment-client.ts';
import type { Bench } from './bench.ts';
import { differenceOf } from './compare-played.ts';
import type { Subject } from './finding.ts';
import type { Disturbed, PlayAgain } from './isolated.ts';
import type { OpenSession } from './play.ts';

/**
 * Plays a task, another one, and the first again, one after the other, so that each comes after the other once.
 *
 * @returns the first that observed something else than alone; undefined where the time was over before that was seen.
 */
export async function inSequence(
  [one, other]: readonly [Subject, Subject],
  again: PlayAgain,
  { open, bench }: { readonly open: OpenSession; readonly bench: Bench },
): Promise<Disturbed | undefined> {
  await again(one, { open });
  for (const [subject, beside] of [
    [other, one],
    [one, other],
  ] as const) {
    if (bench.budget.isOver('order', subject.task)) return undefined;
    const played = await again(subject, { open });
    const difference = differenceOf(subject.solved, played);
    if (difference !== undefined) return { subject, beside, played, difference };
  }
  return undefined;
}

/** One session of a place, that several tasks are played in. It is opened by the first, and closed by its owner. */
export function oneSession(place: OpenSession): { readonly open: OpenSession; close(): Promise<void> } {
  let client: Promise<EnvironmentClient> | undefined;
  return {
    async open(options) {
      client ??= place(options);
      return keepOpen(await client);
    },
    async close() {
      const opened = await client?.catch(() => undefined);
      await opened?.close();
    },
  };
}

function keepOpen(client: EnvironmentClient): EnvironmentClient {
  return new Proxy(client, {
    get(target, name) {
      if (name === 'close') return async () => {};
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
