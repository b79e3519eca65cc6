import { openEnvironment, scriptedModel } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import RetailEnvironment from './environment.ts';

const says = (score: boolean) => JSON.stringify({ score, reason: score ? 'It is so.' : 'It is not.' });
const SCRIPT = 'proctor/user-script';

describe('a conversation at the desk', () => {
  it('is begun by the customer, and solved by the solution with the judge on its side', async () => {
    await using env = await openEnvironment(RetailEnvironment);
    for (const task of await env.tasks('conversation')) {
      const judge = scriptedModel(() => says(true));
      const trace = await env.run(task, { user: SCRIPT, judge });
      expect([task.id, trace.error, trace.reward]).toEqual([task.id, null, 1]);
      expect(trace.turns[0]?.messages[0]?.role).toBe('user');
      expect(trace.evaluation?.info).toMatchObject({ not_judged: [] });
    }
  });

  it('is graded by the facts told and the records alone where nobody judges, and says so', async () => {
    await using env = await openEnvironment(RetailEnvironment);
    const tasks = await env.tasks('conversation');
    const judged = tasks.filter(({ tags }) => tags.includes('assertions'));
    expect(judged.length).toBeGreaterThan(0);
    for (const task of judged) {
      const scenario_args = { ...task.scenario_args, judge_script: undefined };
      const { evaluation } = await env.run({ ...task, scenario_args }, { user: SCRIPT });
      expect(evaluation?.content).toContain('were not judged: set models.judge');
      expect(evaluation?.info.not_judged).not.toEqual([]);
    }
  });

  it('pays nothing where the judge finds that the agent has not done what the task says', async () => {
    await using env = await openEnvironment(RetailEnvironment);
    const [task] = (await env.tasks('conversation')).filter(({ tags }) => tags.includes('assertions'));
    if (task === undefined) throw new Error('There is no task with assertions');
    const { evaluation, judgements } = await env.run(task, { user: SCRIPT, judge: scriptedModel(() => says(false)) });
    expect(evaluation).toMatchObject({ reward: 0, info: { parts: { records: 1, facts: 1, conduct: 0 } } });
    expect(judgements).not.toEqual([]);
  });

  it('keeps the instructions of the customer from the agent', async () => {
    await using env = await openEnvironment(RetailEnvironment);
    const [task] = await env.tasks('conversation');
    if (task === undefined) throw new Error('There is no task');
    const model = scriptedModel(() => 'How can I help?');
    const user = scriptedModel((_request, index) => (index === 0 ? 'Hello.' : '###STOP###'));
    const trace = await env.run(task, { model, user, judge: scriptedModel(() => says(true)) });
    expect(JSON.stringify(user.requests[0]?.messages)).toContain('You are a customer of a shop');
    expect(JSON.stringify([trace.system, trace.prompt, trace.tools, model.requests])).not.toContain(
      'You are a customer of',
    );
    expect(trace.prompt).toEqual([]);
  });

  it('pays nothing to an agent that does nothing, whatever the judge says', async () => {
    await using env = await openEnvironment(RetailEnvironment);
    const [task] = await env.tasks('conversation');
    if (task === undefined) throw new Error('There is no task');
    const judge = scriptedModel(() => says(true));
    expect(await env.run(task, { model: 'proctor/noop', user: SCRIPT, judge })).toMatchObject({ reward: 0 });
  });
});

describe('the taskset of the environment', () => {
  it('has the tasks of both scenarios under ids of their own, a pair in one cluster', async () => {
    await using env = await openEnvironment(RetailEnvironment);
    const tasks = await env.tasks();
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(tasks.length);
    expect(tasks.filter(({ cluster }) => cluster === '4').map(({ id }) => id)).toEqual(['4', 'talk-4']);
  });
});
