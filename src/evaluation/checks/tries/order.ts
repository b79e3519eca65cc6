import type { EnvironmentClient } from '../../../environment/client/environment-client.ts';
import type { Subject } from '../finding.ts';
import type { OpenSession } from '../player/play.ts';
import type { SessionPlayer } from '../player/session-player.ts';
import { differenceOf } from './compare-played.ts';
import type { Disturbed, PlayAgain } from './isolated.ts';

/**
 * Plays a task, another one, and the first again, so that each comes once after the other.
 *
 * @returns the first session that differs from when it was alone; undefined if there is none or the time was over.
 */
export async function inSequence(
  [one, other]: readonly [Subject, Subject],
  again: PlayAgain,
  { open, bench }: { readonly open: OpenSession; readonly bench: SessionPlayer },
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

/** One session in which several tasks are played. The first task opens it, and the caller must close it. */
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
