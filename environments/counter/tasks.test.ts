import { openEnvironment } from 'proctor/testing';
import { expect, it } from 'vitest';
import Counter from './environment.ts';

it('declares tasks of both scenarios, each of which its own solution solves and doing nothing does not', async () => {
  await using env = await openEnvironment(Counter);
  const tasks = await env.tasks();
  expect(tasks.length).toBeGreaterThanOrEqual(16);
  expect(new Set(tasks.map(({ id }) => id)).size).toBe(tasks.length);
  for (const task of tasks) {
    expect([task.id, (await env.run(task)).reward]).toEqual([task.id, 1]);
    const reward = task.scenario_args && 'target' in task.scenario_args && task.scenario_args.target === 0 ? 1 : 0;
    expect([task.id, (await env.run(task, { model: 'proctor/noop' })).reward]).toEqual([task.id, reward]);
  }
});

it('has tasks of every split, in clusters', async () => {
  await using env = await openEnvironment(Counter);
  const tasks = await env.tasks('count_to');
  expect(new Set(tasks.map(({ split }) => split))).toEqual(new Set(['train', 'validation', 'test']));
  expect(tasks.filter(({ cluster }) => cluster === 'forties').map(({ id }) => id)).toEqual([
    'forty',
    'forty-one',
    'forty-two',
  ]);
});
