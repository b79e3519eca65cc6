import type { EnvironmentClient } from '../../client/environment-client.ts';
import type { Bench } from './bench.ts';
import { differenceOf } from './compare-played.ts';
import type { Subject } from './finding.ts';
import type { Disturbed, PlayAgain } from './isolated.ts';
import type { OpenSession } from './play.ts';

/**
 * Plays two tasks one after the other, in both orders.
 *
 * @param openers a pair of places for each order, in which the sessions may share what is tried.
 * @returns the first that observed something else than alone.
 */
export async function inSequence(
  pair: readonly [Subject, Subject],
  again: PlayAgain,
  openers: () => Promise<{ readonly open: OpenSession; close(): Promise<void> }>,
): Promise<Disturbed | undefined> {
  for (const [first, second] of [pair, pair.toReversed() as [Subject, Subject]]) {
    const place = await openers();
    try {
      await again(first, place);
      const played = await again(second, place);
      const difference = differenceOf(second.solved, played);
      if (difference !== undefined) return { subject: second, beside: first, played, difference };
    } finally {
      await place.close();
    }
  }
  return undefined;
}

/** One session that several tasks are played in. It is opened by the first, and closed by its owner. */
export function oneSession(bench: Bench): { readonly open: OpenSession; close(): Promise<void> } {
  let client: Promise<EnvironmentClient> | undefined;
  const alone = bench.places.alone();
  return {
    async open(options) {
      client ??= alone(options);
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
