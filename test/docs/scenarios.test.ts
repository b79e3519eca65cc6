import { openEnvironment, scriptedModel, type TestRunOptions } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import desk from '../../docs/examples/refund.ts';
import countdown from '../../docs/examples/shared-halves.ts';
import { connectInMemory, errorOf, textOf } from '../environment/server/clients.ts';

const args = { order_id: 'A1', amount: 25 };
const refund = (order_id: string, amount: number) => ({ name: 'refund', arguments: { order_id, amount } });
const quiet = { onLog: () => {} };

describe('the desk', () => {
  it('gives its solution 1, doing nothing 0, the wrong order 0, and the money without the answer 0.75', async () => {
    await using env = await openEnvironment(desk, quiet);
    const rewardOf = async (options: TestRunOptions) => (await env.run('refund', args, options)).reward;
    expect(await rewardOf({})).toBe(1);
    expect(await rewardOf({ model: 'proctor/noop' })).toBe(0);
    expect(await rewardOf({ model: scriptedModel([{ toolCalls: [refund('A2', 25)] }, '{"refunded": 25}']) })).toBe(0);
    expect(await rewardOf({ model: scriptedModel([{ toolCalls: [refund('A1', 25)] }, '{"refunded": 5}']) })).toBe(0.75);
  });

  it('keeps content, info and subscores in the trace', async () => {
    await using env = await openEnvironment(desk, quiet);
    const model = scriptedModel([{ toolCalls: [refund('A2', 25)] }, '{"refunded": 25}']);
    expect((await env.run('refund', args, { model })).evaluation).toMatchObject({
      reward: 0,
      content: 'The books are wrong.',
      info: { wrong: ['A1', 'A2'] },
      subscores: [
        { name: 'money', value: 0, weight: 3 },
        { name: 'said so', value: 0 },
      ],
    });
  });

  it('asks once more for an answer that does not fit, and grades one that never does as 0 with the reason', async () => {
    await using env = await openEnvironment(desk, quiet);
    const second = scriptedModel([{ toolCalls: [refund('A1', 25)] }, 'It is done.', '```json\n{"refunded": 25}\n```']);
    expect((await env.run('refund', args, { model: second })).reward).toBe(1);
    const never = scriptedModel([{ toolCalls: [refund('A1', 25)] }, 'It is done.', 'Really.']);
    const { reward, evaluation } = await env.run('refund', args, { model: never });
    expect([reward, evaluation?.is_error]).toEqual([0, true]);
    expect(evaluation?.content).toContain('does not fit');
  });

  it('offers the tools of the scenario alone', async () => {
    await using env = await openEnvironment(desk, quiet);
    const trace = await env.run('refund', args, { model: 'proctor/noop' });
    expect(trace.tools.map(({ name }) => name)).toEqual(['order_find', 'refund']);
    expect(trace.system).toBe('You are a clerk. Refund what was asked for, once.');
    await env.setup('refund', args);
    expect((await env.agent.tools()).map(({ name }) => name)).toEqual(['order_find', 'refund']);
    expect(await env.agent.call('close_shop')).toMatchObject({ is_error: true });
    expect((await env.harness.tools()).map(({ name }) => name)).toContain('close_shop');
  });

  it('runs `finally` when the scenario is evaluated', async () => {
    const logged: string[] = [];
    await using env = await openEnvironment(desk, { onLog: ({ message }) => logged.push(message) });
    await (await env.setup('refund', args)).evaluate({ refunded: 0 });
    expect(logged).toEqual(['The desk is tidy again.']);
  });
});

describe('one scenario at a time', () => {
  it('is what a second setup, and a second evaluation, are told', async () => {
    await using env = await openEnvironment(desk, quiet);
    const task = await env.setup('refund', args);
    await expect(env.setup('refund', args)).rejects.toThrow('refund');
    await task.evaluate({ refunded: 0 });
    await expect(task.evaluate({ refunded: 0 })).rejects.toThrow('no scenario is active');
  });

  it('an MCP client that is no harness gets the task as a prompt, with arguments that are text', async () => {
    const client = await connectInMemory(desk);
    const { prompts } = await client.listPrompts();
    expect(prompts).toMatchObject([{ name: 'refund', arguments: [{ name: 'order_id', required: true }, {}] }]);
    const { messages } = await client.getPrompt({ name: 'refund', arguments: { order_id: 'A2', amount: '5' } });
    expect(messages).toMatchObject([
      { role: 'user', content: { text: 'You are a clerk. Refund what was asked for, once.' } },
      { role: 'user', content: { text: expect.stringContaining('Give 5 back') } },
    ]);
    const bad = client.getPrompt({ name: 'refund', arguments: { order_id: 'A9' } });
    expect((await errorOf(bad)).message).toContain('order_id');
    // A prompt that is got again starts anew; nothing refuses it.
    await client.getPrompt({ name: 'refund', arguments: { order_id: 'A1' } });
    expect(textOf(await client.callTool(refund('A1', 10)))).toBe('10 of order A1 went back.');
  });
});

describe('scenarios of hub functions', () => {
  it('fill their placeholders in, and are graded like any other', async () => {
    await using env = await openEnvironment(countdown);
    const task = await env.setup('count_from', { start: 5, target: 2 });
    expect(task.prompt).toEqual([{ role: 'user', content: 'The counter shows 5. Bring it to 2.' }]);
    expect(await task.evaluate('done')).toMatchObject({ reward: 0 });
    expect((await env.run('count_from', { start: 5, target: 2 })).reward).toBe(1);
    expect((await env.run('count_down', { start: 4 })).reward).toBe(1);
    expect((await env.run('count_down', { start: 4 }, { model: 'proctor/noop' })).reward).toBe(0);
  });

  it('the shared functions are the harness`s', async () => {
    await using env = await openEnvironment(countdown);
    expect((await env.agent.tools()).map(({ name }) => name)).toEqual(['step']);
    expect((await env.harness.tools()).map(({ name }) => name).toSorted()).toEqual([
      'evaluate',
      'setup',
      'solution',
      'step',
    ]);
  });
});
