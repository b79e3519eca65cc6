import { expectSound, openEnvironment, scriptedModel } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import environment from './environment.ts';

const SCRIPT = 'proctor/user-script';

describe('help', () => {
  it('gives the solution of every task a reward of 1, in a conversation that the user begins', async () => {
    await using env = await openEnvironment(environment);
    for (const task of await env.tasks()) {
      const trace = await env.run(task, { user: SCRIPT });
      expect(trace).toMatchObject({ error: null, reward: 1 });
      expect(trace.turns[0]?.messages).toEqual([{ role: 'user', content: task.user_script?.[0] }]);
    }
  });

  it('gives an agent that does nothing no reward', async () => {
    await using env = await openEnvironment(environment);
    for (const task of await env.tasks()) {
      expect(await env.run(task, { model: 'proctor/noop', user: SCRIPT })).toMatchObject({ error: null, reward: 0 });
    }
  });

  it('tells the user its instructions, and the agent what the user says', async () => {
    await using env = await openEnvironment(environment);
    const user = scriptedModel(['My parcel is late.', 'P204. ###STOP###']);
    const model = scriptedModel(['Which number?']);
    const trace = await env.run('help', {}, { model, user });
    expect(JSON.stringify(user.requests)).toContain('You have moved');
    expect(JSON.stringify(model.requests)).not.toContain('You have moved');
    expect(trace).toMatchObject({ stop_reason: 'answered', reward: 0, evaluation: { info: { texts: 3 } } });
  });

  it('gives an agent that sends the wrong parcel no reward', async () => {
    await using env = await openEnvironment(environment);
    const look = { name: 'find_parcel', arguments: { number: 'P204' } };
    const send = { name: 'send_elsewhere', arguments: { number: 'P411', to: 'Quay 7' } };
    const model = scriptedModel([{ toolCalls: [look, send] }, 'It goes to Quay 7.']);
    const user = scriptedModel(['P204 to Quay 7, please.', '###STOP###']);
    expect(await env.run('help', {}, { model, user })).toMatchObject({ error: null, reward: 0 });
  });
});

it('has rewards that mean something', { timeout: 60_000 }, async () => {
  await expectSound(environment);
});
