import { EnvironmentServer, Hub } from 'proctor';
import { openEnvironment, type ScriptedResponse, scriptedModel } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import type { ScenarioConfig } from '../../../src/environment/authoring/scenario.ts';

type User = NonNullable<ScenarioConfig['user']>;

const SECRET = 'You want pears, and you never say so.';
const MODEL: User = { instructions: SECRET };
const INFRA_ERROR = { status: 'failed', outcome: 'infra_error', reward: null };

/** A stall. Its reward is 1 where the scales were used once at most; `info` has the conversation. */
function createStall(user: User, prompt: string | [] = 'A customer comes.', limit = 1) {
  return () => {
    const stall = new EnvironmentServer({ name: 'stall' });
    let weighed = 0;
    stall.tool('weigh', {}, () => {
      weighed += 1;
      return '2 kg';
    });
    stall.mount(
      new Hub('wallet', { audience: 'user' }).tool('count', {}, () => new Promise<number>(() => {})), // Hangs.
    );
    stall.scenario(
      'sell',
      { user, tasks: [{ id: 'pears', user_script: ['One pear.', 'Thanks.'] }] },
      async function* (_args, { conversation }) {
        yield prompt as string;
        return { reward: weighed <= limit ? 1 : 0, info: { conversation: conversation.map(({ content }) => content) } };
      },
    );
    return stall;
  };
}

async function play(
  user: User,
  {
    prompt,
    says = [],
    agent = ['Which?', 'Here.', 'Bye.'],
  }: { prompt?: []; says?: readonly Said[]; agent?: readonly string[] },
) {
  await using env = await openEnvironment(createStall(user, prompt));
  const model = scriptedModel((_request, index) => agent[index] ?? 'And?');
  const guest = scriptedModel((_request, index) => says[index] ?? '###STOP###');
  const trace = await env.run('sell', {}, { model, user: guest, limits: { toolCallMs: 50 } });
  return { trace, model, guest };
}

type Said = Exclude<ScriptedResponse, Error>;

describe('a conversation with a user that a model plays', () => {
  it.each([
    ['in the middle of a reply', 'Two, please. ###STOP### And pears.', 'Two, please.'],
    ['inside of a word', 'Fine.###STOP###Bye', 'Fine.'],
  ])('ends by the stop word %s: what stands before it is recorded, and evaluated', async (_where, said, kept) => {
    const { trace } = await play(MODEL, { says: [said] });
    expect(trace).toMatchObject({ stop_reason: 'answered', answer: 'Which?', reward: 1 });
    expect(trace.turns[0]?.user).toMatchObject({ message: kept, is_over: true });
    expect(trace.evaluation?.info.conversation).toEqual(['A customer comes.', 'Which?', kept]);
  });

  it('has one answer of the agent where the user says all at once and stops', async () => {
    const { trace, guest } = await play(MODEL, { prompt: [], says: ['One pear. ###STOP###'] });
    expect(trace).toMatchObject({ stop_reason: 'answered', answer: 'Which?', reward: 1 });
    expect(trace.evaluation?.info.conversation).toEqual(['One pear.', 'Which?']);
    expect(guest.requests).toHaveLength(1);
  });

  it('has no reward where the user ends it before it begins', async () => {
    const { trace, model } = await play(MODEL, { prompt: [], says: ['###STOP###'] });
    expect(trace).toMatchObject({ ...INFRA_ERROR, error: { code: 'user_error' } });
    expect(model.requests).toEqual([]);
  });

  it('goes on for an agent that writes the stop word', async () => {
    const { trace } = await play(MODEL, { says: ['Go on.'], agent: ['###STOP###', 'Here. ###STOP###'] });
    expect(trace.turns).toHaveLength(2);
    expect(trace.evaluation?.info.conversation).toContain('###STOP###');
  });

  it('tells the agent nothing of the user but the text of its replies, whatever it gives away', async () => {
    const { trace, model, guest } = await play(MODEL, { says: ['Pears? I must not say so.'] });
    expect(JSON.stringify(guest.requests[0]?.messages)).toContain(SECRET);
    expect(JSON.stringify(model.requests)).not.toContain(SECRET);
    expect(JSON.stringify([trace.system, trace.prompt, trace.tools])).not.toContain(SECRET);
    expect(model.requests[1]?.messages.at(-1)).toEqual({ role: 'user', content: 'Pears? I must not say so.' });
  });

  it('lets a user that plays the agent call none of its tools', async () => {
    const { trace, guest } = await play(MODEL, {
      says: [{ toolCalls: [{ name: 'weigh' }] }, 'I have weighed it. ###STOP###'],
    });
    expect(guest.requests[0]?.tools).toEqual([]);
    expect(trace.turns[0]?.user?.calls).toMatchObject([{ name: 'weigh', is_error: true }]);
    expect(trace).toMatchObject({ usage: { tool_calls: 0 }, reward: 1 });
  });

  it('ends as the failure of the environment where a function of the user hangs', async () => {
    const { trace } = await play(
      { instructions: SECRET, tools: ['count'] },
      { says: [{ toolCalls: [{ name: 'count' }] }] },
    );
    expect(trace).toMatchObject({ ...INFRA_ERROR, error: { boundary: 'environment' } });
    expect(trace.error?.message).toContain('within 50 ms');
  });

  it('says the lines of the task by proctor/user-script, though the scenario has no argument for them', async () => {
    await using env = await openEnvironment(createStall(MODEL));
    const [task] = await env.tasks('sell');
    if (task === undefined) throw new Error('There is no task');
    const trace = await env.run(task, { model: scriptedModel(() => 'Yes?'), user: 'proctor/user-script' });
    expect(trace.turns.map(({ user }) => user?.message)).toEqual(['One pear.', 'Thanks.', null]);
  });
});

describe('a conversation with a user that is code', () => {
  const anything = (value: unknown): User => (() => value) as () => string;

  it.each<readonly [string, User, RegExp]>([
    ['throws', () => Promise.reject(new Error('no idea')), /no idea/],
    ['hangs', () => new Promise<string>(() => {}), /within 50 ms/],
    ['returns a number', anything(7), /has to return text or null, got 7/],
    ['returns nothing', anything(undefined), /has to return text or null/],
    ['returns a message', anything({ role: 'user', content: 'Hi' }), /has to return text or null/],
    ['says nothing, twice', anything('  '), /an empty text twice/],
  ])('has no reward where it %s', async (_how, user, message) => {
    const { trace } = await play(user, {});
    expect(trace).toMatchObject({ ...INFRA_ERROR, error: { message: expect.stringMatching(message) } });
  });

  it('goes on where it has something to say when it is asked once more', async () => {
    let asked = 0;
    const { trace } = await play(() => ['', 'One pear.', '', 'Bye. ###STOP###'][asked++] ?? null, {});
    expect(trace.turns.map(({ user }) => user?.message)).toEqual(['One pear.', 'Bye.']);
    expect(trace.reward).toBe(1);
  });

  it('ends by null, and when its replies are used up', async () => {
    const [over, endless] = await Promise.all([play(() => null, {}), play(() => 'And?', {})]);
    expect(over.trace).toMatchObject({ stop_reason: 'answered', reward: 1 });
    expect(endless.trace).toMatchObject({ stop_reason: 'user_turns', outcome: 'limit', reward: 1 });
    expect(endless.trace.turns).toHaveLength(31);
  });
});
