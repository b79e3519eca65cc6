import { EnvironmentServer } from 'proctor';
import { type Clock, fakeClock, openEnvironment } from 'proctor/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';

it('bakes for an hour, in no time', async () => {
  const oven = ({ now, sleep }: Clock) =>
    new EnvironmentServer({ name: 'oven' }).tool('bake', { args: { ms: z.int() } }, async ({ ms }, { signal }) => {
      const from = now();
      await sleep(ms, signal);
      return `baked for ${now() - from} ms`;
    });

  const clock = fakeClock();
  await using env = await openEnvironment(() => oven(clock));
  const baking = env.agent.call('bake', { ms: 3_600_000 });
  await clock.sleeping(); // the call has arrived, and waits
  await clock.advance(3_600_000);
  expect((await baking).text).toBe('baked for 3600000 ms');
});
