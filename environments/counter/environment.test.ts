import { inMemory } from 'proctor';
import { connectEnvironment, type EnvironmentClient } from 'proctor/client';
import { afterEach, describe, expect, it } from 'vitest';
import Counter from './environment.ts';

const open: EnvironmentClient[] = [];

async function connect(): Promise<EnvironmentClient> {
  const client = await connectEnvironment(inMemory(Counter));
  open.push(client);
  return client;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
});

const shown = (count: number) => ({ content: [{ type: 'text', text: String(count) }], is_error: false });

describe('the counter', () => {
  it('offers its three tools and two scenarios', async () => {
    const client = await connect();
    expect((await client.tools()).map(({ name }) => name)).toEqual(['increment', 'read', 'slow_increment']);
    expect((await client.scenarios()).map(({ name, required_args }) => [name, required_args])).toEqual([
      ['counter:count_to', ['target']],
      ['counter:slow_count', ['target', 'delay_ms']],
    ]);
  });

  it('counts by one, or by what it is told', async () => {
    const client = await connect();
    expect(await client.call('increment', {})).toMatchObject(shown(1));
    expect(await client.call('increment', { by: 4 })).toMatchObject(shown(5));
    expect(await client.call('increment', { by: -2 })).toMatchObject(shown(3));
    expect(await client.call('slow_increment', { delay_ms: 0 })).toMatchObject(shown(4));
    expect(await client.call('read', {})).toMatchObject(shown(4));
  });

  it.each([
    ['increment', { by: 1.5 }, 'by'],
    ['increment', { by: 'two' }, 'by'],
    ['increment', { to: 2 }, 'to'],
    ['slow_increment', {}, 'delay_ms'],
    ['slow_increment', { delay_ms: 60_001 }, 'delay_ms'],
    ['slow_increment', { delay_ms: -1 }, 'delay_ms'],
  ])('refuses %s %j and names the field', async (name, args, field) => {
    const client = await connect();
    const result = await client.call(name, args);
    expect(result.is_error).toBe(true);
    expect(JSON.stringify(result.content)).toContain(field);
    expect(await client.call('read', {})).toMatchObject(shown(0));
  });

  it('counts nothing for a call that is aborted', async () => {
    const client = await connect();
    const abort = new AbortController();
    const call = client.call('slow_increment', { delay_ms: 1_000 }, { signal: abort.signal });
    const rejected = expect(call).rejects.toThrow('enough');
    // A reply to a later request: the server has the call by now.
    await client.call('read', {});
    abort.abort(new Error('enough'));
    await rejected;
    // Begun later and as long: it ends after the aborted one would have.
    expect(await client.call('slow_increment', { delay_ms: 1_000 })).toMatchObject(shown(1));
  });

  it('is one for each session', async () => {
    const [one, other] = [await connect(), await connect()];
    await one.call('increment', { by: 5 });
    expect(await other.call('read', {})).toMatchObject(shown(0));
  });
});

describe.each([
  ['count_to', {}],
  ['slow_count', { delay_ms: 0 }],
])('the scenario %s', (scenario, more) => {
  it.each([0, 3])('gives its own solution of target %i a reward of 1', async (target) => {
    const client = await connect();
    const args = { target, ...more };
    const { calls, answer, done } = await client.solution(scenario, args, []);
    expect(done).toBe(true);
    await client.setup(scenario, args);
    for (const call of calls) await client.call(call.name, call.arguments);
    expect(await client.evaluate(scenario, answer)).toMatchObject({ reward: 1, info: { count: target, target } });
  });

  it.each([
    [0, 1],
    [3, 0],
  ])('gives doing nothing for target %i a reward of %i', async (target, reward) => {
    const client = await connect();
    await client.setup(scenario, { target, ...more });
    expect(await client.evaluate(scenario, '')).toMatchObject({ reward });
  });

  it('gives a wrong count no reward, and starts from 0', async () => {
    const client = await connect();
    await client.call('increment', { by: 2 });
    const { prompt } = await client.setup(scenario, { target: 3, ...more });
    expect(JSON.stringify(prompt)).toContain('exactly 3');
    await client.call('increment', { by: 1 });
    expect(await client.evaluate(scenario, 'The counter shows 3.')).toMatchObject({ reward: 0, info: { count: 1 } });
  });

  it.each([-1, 1.5, '3'])('refuses the target %j by name', async (target) => {
    const client = await connect();
    await expect(client.setup(scenario, { target, ...more })).rejects.toThrow('target');
  });
});
