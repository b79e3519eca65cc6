import { expect, it } from 'vitest';
import { z } from 'zod';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { createHouse, type House, type HouseService, SERVE, startHouse } from './tea-house.ts';

const YES = '{"score": true, "reason": "It is."}';
const POUR = { tool: 'pour' };
const PAY = { tool: 'pay' };

/** Two cups: the guest pays for each by a function of its own. */
const TWO_CUPS: House['lines'] = {
  waiter: [POUR, 'Here is one.', POUR, 'Here is another.'],
  guest: [PAY, 'One more, please.', PAY, 'Thank you. ###STOP###'],
  critic: [YES],
};

const wordsOf = ({ turns }: Trace) => turns.map(({ messages, user }) => [messages.at(-1)?.content, user?.message]);

async function replay(service: HouseService, traceId: string): Promise<Trace> {
  return await service.begun(`/v1/traces/${traceId}/replay`);
}

async function fork(service: HouseService, trace_id: string, after_step: number, body: object = {}): Promise<Trace> {
  return await service.begun('/v1/agent/run', { fork: { trace_id, after_step }, ...body });
}

it('a replay takes the recorded replies and votes, and calls the functions of the user once more', async () => {
  const service = await startHouse(createHouse({ lines: { ...TWO_CUPS } }));
  const before = await service.begun('/v1/agent/run', SERVE);
  expect(before).toMatchObject({ reward: 1, evaluation: { info: { poured: 2, paid: 2 } } });
  const asked = service.house.asked.length;
  const trace = await replay(service, before.trace_id);
  expect(trace).toMatchObject({
    replay: { identical: true },
    evaluation: { info: { poured: 2, paid: 2 } },
    usage: { model_calls: 0, user: { model_calls: 0, cost_usd: 0 }, judge: { model_calls: 0, cost_usd: 0 } },
    judgements: [{ repeated: true, score: 1, votes: before.judgements?.[0]?.votes }],
  });
  expect(wordsOf(trace)).toEqual(wordsOf(before));
  expect(trace.turns.map(({ user }) => [user?.repeated, user?.calls.map(({ text }) => text)])).toEqual([
    [true, ['1 paid']],
    [true, ['2 paid']],
  ]);
  expect(service.house.asked).toHaveLength(asked);
});

it('a replay needs neither a model for users nor one for judges', async () => {
  const house = createHouse({ lines: { ...TWO_CUPS } });
  const service = await startHouse(house);
  const { trace_id } = await service.begun('/v1/agent/run', SERVE);
  await service.close();
  const poor = await startHouse(house, { harness: {}, parts: service });
  expect(await replay(poor, trace_id)).toMatchObject({ status: 'completed', replay: { identical: true } });
});

it('a conversation that its user began is begun so again', async () => {
  const lines = { ...TWO_CUPS, guest: [PAY, 'Tea!', PAY, 'One more.', 'Thank you. ###STOP###'] };
  const service = await startHouse(createHouse({ prompt: [], lines }));
  const before = await service.begun('/v1/agent/run', SERVE);
  expect(before).toMatchObject({ reward: 1, turns: [{ opening: { message: 'Tea!' } }, {}] });
  const asked = service.house.asked.length;
  const trace = await replay(service, before.trace_id);
  expect(trace).toMatchObject({ replay: { identical: true }, evaluation: { info: { paid: 2 } } });
  expect(wordsOf(trace)).toEqual(wordsOf(before));
  expect(service.house.asked).toHaveLength(asked);
});

it('a fork in the second turn takes the replies up to there, then goes on with the user', async () => {
  const service = await startHouse(
    createHouse({
      lines: { ...TWO_CUPS, other: ['And another one.', POUR, 'Here you are.'] },
    }),
  );
  const before = await service.begun('/v1/agent/run', SERVE);
  const { house } = service;
  const asked = house.asked.length;
  house.lines.guest = ['', '', '', '', 'A third, then.', PAY, 'Enough. ###STOP###'];
  const trace = await fork(service, before.trace_id, 3, { model: 'other' });
  expect(wordsOf(trace)).toEqual([
    ['Good day.', 'One more, please.'],
    ['One more, please.', 'A third, then.'],
    ['A third, then.', 'Enough.'],
  ]);
  expect(trace).toMatchObject({
    status: 'completed',
    evaluation: { info: { poured: 3, paid: 2 } },
    usage: { model_calls: 3, user: { model_calls: 3 }, judge: { model_calls: 2 } },
  });
  // Two votes on another conversation.
  expect(house.asked.slice(asked)).toEqual([
    ...['other', 'guest', 'other', 'other', 'guest', 'guest', 'critic', 'critic'],
  ]);
  expect(house.sent[asked + 1]?.slice(1)).toEqual([
    ...['The assistant is there and waits for your first message.', 'Good day.'],
    ...['Here is one.', 'One more, please.', 'And another one.'],
  ]);
  expect(trace.turns.map(({ user }) => user?.repeated)).toEqual([true, undefined, undefined]);
});

it('a fork keeps the models of user and judge that its trace was asked for with', async () => {
  const lines = { ...TWO_CUPS, friend: TWO_CUPS.guest ?? [], stern: [YES] };
  const service = await startHouse(createHouse({ lines }));
  const named = { user_model: 'friend', judge_model: 'stern' };
  const { trace_id } = await service.begun('/v1/agent/run', { ...SERVE, ...named });
  const asked = service.house.asked.length;
  await fork(service, trace_id, 0);
  expect(new Set(service.house.asked.slice(asked))).toEqual(new Set(['waiter', 'friend', 'stern']));
});

it('a fork needs a model for its user, and is refused without one', async () => {
  const house = createHouse({ lines: { ...TWO_CUPS } });
  const service = await startHouse(house);
  const { trace_id } = await service.begun('/v1/agent/run', SERVE);
  await service.close();
  const poor = await startHouse(house, { harness: {}, parts: service });
  const reply = await poor.post('/v1/agent/run', { fork: { trace_id, after_step: 1 } });
  expect(reply).toMatchObject({ status: 400, json: { error: { param: 'user_model' } } });
});

it('replies of the record count among those that a user has', async () => {
  const user = { instructions: 'You want tea.', maxTurns: 2 };
  const lines = { waiter: [POUR, 'One.', POUR, 'Two.', POUR, 'Three.'], guest: ['More.'], critic: [YES] };
  const service = await startHouse(createHouse({ user, lines }));
  const before = await service.begun('/v1/agent/run', SERVE);
  expect(before.stop_reason).toBe('user_turns');
  expect(await replay(service, before.trace_id)).toMatchObject({
    stop_reason: 'user_turns',
    replay: { identical: true },
  });
  const trace = await fork(service, before.trace_id, 3);
  expect(trace).toMatchObject({ stop_reason: 'user_turns' });
  expect(trace.turns).toHaveLength(3);
});

it('the answer of a fork is asked for once more where it does not fit', async () => {
  const answer = z.object({ cups: z.int() });
  const lines = { waiter: [POUR, '{"cups": 1}'], guest: [PAY, '###STOP###'], critic: [YES] };
  const service = await startHouse(createHouse({ answer, lines }));
  const { trace_id } = await service.begun('/v1/agent/run', SERVE);
  Object.assign(lines, { other: ['One cup.', '{"cups": 1}'], guest: ['', '', '###STOP###'] });
  const trace = await fork(service, trace_id, 1, { model: 'other' });
  expect(trace).toMatchObject({ status: 'completed', answer: { cups: 1 }, usage: { model_calls: 2 } });
});

it('a user that is code, or a script, is where it was when a fork goes on', async () => {
  const seen: number[] = [];
  const house = createHouse({
    lines: { waiter: [POUR, 'One.', POUR, 'Two.'], critic: [YES] },
    user: (conversation) => {
      seen.push(conversation.length);
      return conversation.length < 4 ? 'More.' : null;
    },
  });
  const service = await startHouse(house);
  const coded = await service.begun('/v1/agent/run', SERVE);
  seen.length = 0;
  expect(wordsOf(await fork(service, coded.trace_id, 3))).toEqual(wordsOf(coded));
  expect(seen).toEqual([2, 4]);
  house.user = { instructions: 'You want tea.' };
  house.asked.length = 0;
  const script = { user_model: 'proctor/user-script', scenario_args: { user_script: ['a', 'b'] } };
  const scripted = await service.begun('/v1/agent/run', { ...SERVE, ...script });
  house.asked.length = 0;
  house.lines.waiter = ['Two.', 'Three.'];
  expect(wordsOf(await fork(service, scripted.trace_id, 3))).toEqual([
    ['Good day.', 'a'],
    ['a', 'b'],
    ['b', null],
  ]);
});

it('the lines that a task has for its user are those of replays and forks too', async () => {
  const house = createHouse({ lines: { waiter: [POUR, 'One.', POUR, 'Two.'], critic: [YES] } });
  const service = await startHouse(house, { harness: { judge: 'critic' } });
  const tasks = [{ id: 'tea', env: 'house', scenario: 'serve', user_script: ['a', 'b'] }];
  const body = { tasks, models: ['waiter'], user_model: 'proctor/user-script' };
  const { evaluation_id } = (await service.post('/v1/evaluations', body)).json as { evaluation_id: string };
  await service.request(`/v1/evaluations/${evaluation_id}?wait=60`);
  const { data } = await service.store.list({ account: 'local', origin: 'eval' });
  const trace_id = data[0]?.trace_id ?? '';
  const before = await service.ended(trace_id);
  expect(wordsOf(before)).toEqual([
    ['Good day.', 'a'],
    ['a', 'b'],
    ['b', null],
  ]);
  const again = await replay(service, trace_id);
  expect(again).toMatchObject({ status: 'completed', replay: { identical: true } });
  house.asked.length = 0;
  house.lines.waiter = ['Two.', 'Three.'];
  for (const parent of [trace_id, again.trace_id]) {
    house.asked.length = 0;
    expect(wordsOf(await fork(service, parent, 3))).toEqual(wordsOf(before));
  }
});
