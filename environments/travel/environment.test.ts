import { openEnvironment, scriptedModel } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import travel from './environment.ts';

const SCRIPT = 'proctor/user-script';
const judge = (score: boolean) => scriptedModel(() => JSON.stringify({ score, reason: 'As it is.' }));

describe('the travel desk', () => {
  it('is solved by its solutions in a conversation, with a judge who is content', async () => {
    await using env = await openEnvironment(travel);
    for (const task of await env.tasks()) {
      const trace = await env.run(task, { user: SCRIPT, judge: judge(true) });
      expect([task.id, trace.reward, trace.error]).toEqual([task.id, 1, null]);
      expect(trace.turns.length).toBeGreaterThan(1);
    }
  });

  it('pays nothing for right records where the talk broke a rule', async () => {
    await using env = await openEnvironment(travel);
    const trace = await env.run('passenger', { task: 'flex-cancel', user_script: ['Hello.'] }, { judge: judge(false) });
    expect(trace.evaluation).toMatchObject({
      reward: 0,
      info: { records: 1, talk: 0 },
    });
  });

  it('grades the records alone where nobody judges, and says so', async () => {
    await using env = await openEnvironment(travel);
    const trace = await env.run('passenger', { task: 'same-day', user_script: ['Hello.'] });
    expect(trace.reward).toBe(1);
    expect(trace.evaluation?.content).toContain('models.judge');
  });

  it('pays nothing to an agent that has looked at nothing, in tasks that change nothing too', async () => {
    await using env = await openEnvironment(travel);
    for (const task of await env.tasks()) {
      const { reward } = await env.run(task, { model: 'proctor/noop', user: SCRIPT, judge: judge(true) });
      expect([task.id, reward]).toEqual([task.id, 0]);
    }
  });

  it('refuses what its rules forbid', async () => {
    await using env = await openEnvironment(travel);
    await env.setup('passenger', { task: 'basic-fare' });
    expect(await env.agent.call('change_flight', { code: 'QK7MB2', flight: 'NW107' })).toMatchObject({
      is_error: true,
    });
    expect(await env.agent.call('change_flight', { code: 'QK4TZ1', flight: 'NW105' })).toMatchObject({
      is_error: true,
    });
    expect(await env.agent.call('add_bag', { code: 'QN5PV5' })).toMatchObject({ is_error: true });
    expect(await env.agent.call('find_booking', { code: 'QK4TZ1', last_name: 'Brandt' })).toMatchObject({
      is_error: true,
    });
  });
});
