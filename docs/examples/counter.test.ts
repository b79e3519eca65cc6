import { openEnvironment, scriptedModel } from 'proctor/testing';
import { expect, it } from 'vitest';
import Counter from '../../environments/counter/environment.ts';

it('gives its own solution a reward of 1', async () => {
  await using env = await openEnvironment(Counter);
  expect(await env.run('count_to', { target: 3 })).toMatchObject({ error: null, reward: 1 });
});

it('gives doing nothing, and a wrong count, no reward', async () => {
  await using env = await openEnvironment(Counter);
  await env.run('count_to', { target: 3 }); // proctor/oracle, which plays the solution
  await env.run('count_to', { target: 3 }, { model: 'proctor/noop' });

  const model = scriptedModel([{ toolCalls: [{ name: 'increment', arguments: { by: 2 } }] }, 'The counter shows 3.']);
  const trace = await env.run('count_to', { target: 3 }, { model });
  expect(trace).toMatchObject({ error: null, reward: 0, answer: 'The counter shows 3.' });
  expect(trace.steps[0]?.tool_results[0]).toMatchObject({ name: 'increment', is_error: false });
  expect((await env.run('count_to', { target: 3 }, { model: 'proctor/noop' })).reward).toBe(0);
});

it('counts step by step', async () => {
  await using env = await openEnvironment(Counter);
  const task = await env.setup('count_to', { target: 3 });
  expect(task.prompt[0]?.content).toContain('exactly 3');
  expect((await env.agent.call('increment', { by: 3 })).text).toBe('3');
  expect(await task.evaluate('The counter shows 3.')).toMatchObject({ reward: 1 });
});
