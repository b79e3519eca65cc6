import type { EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import type { Finding, Subject } from '../finding.ts';
import type { SessionPlayer } from '../player/session-player.ts';
import { describeHeld, type HeldKey, type KeyLook, KeyWatch, reasonNotToLook } from './key-watch.ts';

/**
 * Checks that no process of the environment holds a key of a gateway, a trainer or the service, because a model
 * controls it.
 */
export async function secrets(
  { task }: Subject,
  bench: SessionPlayer,
  target: EnvironmentTarget,
): Promise<readonly Finding[]> {
  const { coverage, keys, places, signal } = bench;
  const reason = reasonNotToLook(target, keys);
  if (reason !== undefined) {
    coverage.notTried('secrets', reason);
    return [];
  }
  const watch = new KeyWatch(target, keys, places.newFolder());
  const looks: KeyLook[] = [];
  await bench.play(task, {
    model: 'proctor/oracle',
    open: places.alone({ variables: watch.variables }),
    around: async (part, request) => {
      const result = await request();
      if (part !== 'call') looks.push(await watch.look(signal));
      return result;
    },
  });
  if (looks.length > 0) coverage.tried('secrets');
  const gaps = new Set(looks.length > 0 ? looks.flatMap(({ gap }) => gap ?? []) : ['its session could not be set up']);
  for (const gap of gaps) coverage.notTried('secrets', gap);
  const held = new Map<string, HeldKey>(looks.flatMap((look) => look.held).map((each) => [each.variable, each]));
  return held.size === 0 ? [] : [{ finding: 'secrets', level: 'error', message: describeHeld([...held.values()]) }];
}
