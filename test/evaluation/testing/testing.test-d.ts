import { EnvironmentServer, type Scenario } from 'proctor';
import { type FakeClock, fakeClock, openEnvironment, scriptedModel, type Trace } from 'proctor/testing';
import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';

const environment = new EnvironmentServer({ name: 'types' });
const countTo = environment.scenario(
  'count_to',
  { args: { target: z.number(), from: z.number().default(0) } },
  async function* () {
    yield 'Go.';
    return 1;
  },
);

describe('a typed handle', () => {
  it('is checked against what the schema takes, where a run and a setup are given it', async () => {
    expectTypeOf(countTo).toExtend<Scenario<{ target: z.ZodNumber; from: z.ZodDefault<z.ZodNumber> }>>();
    await using env = await openEnvironment(environment);
    expectTypeOf(env.run(countTo.with({ target: 3 }), { model: 'proctor/noop' })).toEqualTypeOf<Promise<Trace>>();
    await env.setup(countTo.with({ target: 3, from: 1 }));
    // @ts-expect-error target is a number
    await env.run(countTo.with({ target: '3' }));
    // @ts-expect-error target is required
    await env.setup(countTo.with({ from: 1 }));
    // @ts-expect-error there is no `to`
    await env.solution(countTo.with({ target: 3, to: 4 }));
  });
});

describe('openEnvironment', () => {
  it('takes names as strings, with arguments and options', async () => {
    await using env = await openEnvironment(environment);
    await env.run('count_to', { target: 3 }, { model: scriptedModel(['3']), maxSteps: 2 });
    const started = await env.setup('count_to');
    const { reward } = await started.evaluate({ count: 3 });
    expectTypeOf(reward).toEqualTypeOf<number>();
    expectTypeOf((await env.agent.call('count')).text).toEqualTypeOf<string>();
    // @ts-expect-error a handle has its arguments already
    await env.run(countTo.with({ target: 3 }), { target: 3 }, { maxSteps: 2 });
    // @ts-expect-error there is no such option
    await env.run('count_to', { target: 3 }, { steps: 2 });
  });
});

describe('fakeClock', () => {
  it('gives functions that need no this', () => {
    expectTypeOf(fakeClock()).toEqualTypeOf<FakeClock>();
    const { now, sleep } = fakeClock(1_000);
    expectTypeOf(now).toEqualTypeOf<() => number>();
    expectTypeOf(sleep(1)).toEqualTypeOf<Promise<void>>();
  });
});
