import { expectSound, openEnvironment, scriptedModel } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import ToDoList from './environment.ts';

describe('the list', () => {
  it('adds, lists and finishes tasks', async () => {
    await using env = await openEnvironment(ToDoList);
    expect((await env.agent.call('add', { title: 'Sleep' })).text).toBe('4071');
    expect(await env.agent.call('list')).toMatchObject({
      structured_content: { tasks: [{ id: 4071, title: 'Sleep' }] },
    });
    expect((await env.agent.call('finish', { id: 4071 })).text).toBe('Done: Sleep');
    expect(await env.agent.call('list')).toMatchObject({ structured_content: { tasks: [] } });
  });

  it('says which task does not exist', async () => {
    await using env = await openEnvironment(ToDoList);
    expect(await env.agent.call('finish', { id: 7 })).toMatchObject({
      is_error: true,
      text: expect.stringContaining('There is no task 7'),
    });
  });
});

describe('clear_list', () => {
  const args = { titles: ['Water the plants', 'Call Ada'] };

  it('gives its own solution a reward of 1', async () => {
    await using env = await openEnvironment(ToDoList);
    expect(await env.run('clear_list', args)).toMatchObject({ error: null, reward: 1 });
  });

  it('gives the solution of every task a reward of 1', async () => {
    await using env = await openEnvironment(ToDoList);
    for (const task of await env.tasks()) expect(await env.run(task)).toMatchObject({ error: null, reward: 1 });
  });

  it('gives an agent that does nothing no reward', async () => {
    await using env = await openEnvironment(ToDoList);
    expect(await env.run('clear_list', args, { model: 'proctor/noop' })).toMatchObject({ error: null, reward: 0 });
  });

  it('gives half of the work, and work that nobody asked for, a part of it', async () => {
    await using env = await openEnvironment(ToDoList);
    const half = scriptedModel([{ toolCalls: [{ name: 'finish', arguments: { id: 4072 } }] }, 'Done.']);
    expect((await env.run('clear_list', args, { model: half })).reward).toBeCloseTo(0.625);
    const busy = scriptedModel([{ toolCalls: [{ name: 'add', arguments: { title: 'Dance' } }] }, 'Done.']);
    expect((await env.run('clear_list', args, { model: busy })).reward).toBe(0);
  });
});

it('has rewards that mean something', { timeout: 60_000 }, async () => {
  await expectSound(ToDoList);
});
