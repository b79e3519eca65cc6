import { describe, expect, it } from 'vitest';
import { evaluationAcceptedSchema, evaluationDetailSchema } from '../../../src/contract/service/evaluation.ts';
import { usageListSchema } from '../../../src/contract/service/totals.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import type { HarnessModels } from '../../../src/models/gateway/model-config.ts';
import { startService, traceIdOf } from './service.ts';
import { TEA_ROOM, teaGateway } from './tea-room.ts';

const PRICES = {
  agent: { input: 1, output: 10 },
  guest: { input: 2, output: 20 },
  critic: { input: 4, output: 40 },
};
/** Of one call at the price of the agent, in US dollars. */
const COST = (10 * 1 + 100 * 10) / 1_000_000;

async function startTeaRoom(harness: HarnessModels = { user: 'guest', judge: 'critic' }) {
  const gateway = await teaGateway();
  const gateways = Object.entries(PRICES).map(([pattern, prices]) => ({
    pattern,
    prices,
    baseUrl: gateway.url,
    maxOutputTokens: 100,
  }));
  const models = createModels({ gateways: [...gateways, { pattern: 'unpriced', baseUrl: gateway.url }], harness });
  const service = await startService({ environments: new Map([['tea', TEA_ROOM]]), models });
  return { service, gateway };
}

type Service = Awaited<ReturnType<typeof startTeaRoom>>['service'];

async function ask(service: Service, body: object) {
  const tasks = [0, 1, 2, 3].map((guest) => ({ id: `t-${guest}`, env: 'tea', scenario: 'serve', args: { guest } }));
  return await service.request('/v1/evaluations', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tasks, models: ['agent'], ...body }),
  });
}

async function evaluate(service: Service, body: object) {
  const reply = await ask(service, body);
  expect(reply.status, reply.text).toBe(200);
  const { evaluation_id: id } = evaluationAcceptedSchema.parse(reply.json);
  return evaluationDetailSchema.parse((await service.request(`/v1/evaluations/${id}?wait=60`)).json);
}

describe('the models of a conversation that a worker plays', { timeout: 60_000 }, () => {
  it('are each their own: the model of the run plays neither its user nor its judge', async () => {
    const { service, gateway } = await startTeaRoom();
    const reply = await service.run({ env_name: 'tea', scenario_name: 'serve', scenario_args: {}, model: 'agent' });
    const trace = await service.ended(traceIdOf(reply));
    expect(trace).toMatchObject({ status: 'completed', reward: 1, answer: 'Here you are.' });
    expect(gateway.asked()).toEqual(['agent', 'guest', 'agent', 'guest', 'critic', 'critic', 'critic']);
    expect(trace.usage).toMatchObject({
      cost_usd: expect.closeTo(2 * COST, 10),
      user: { model_calls: 2, cost_usd: expect.closeTo(4 * COST, 10) },
      judge: { model_calls: 3, cost_usd: expect.closeTo(12 * COST, 10) },
    });
    const { json } = await service.request('/v1/usage');
    expect(usageListSchema.parse(json).data).toMatchObject([{ runs: 1, model_calls: 7, total_tokens: 7 * 110 }]);
  });

  it('are not asked by a replay: it takes the recorded replies and votes', async () => {
    const { service, gateway } = await startTeaRoom();
    const played = { env_name: 'tea', scenario_name: 'serve', scenario_args: {}, model: 'agent' };
    const { trace_id, turns } = await service.ended(traceIdOf(await service.run(played)));
    const before = gateway.asked().length;
    const replayed = await service.request(`/v1/traces/${trace_id}/replay`, { method: 'POST' });
    const again = await service.ended(traceIdOf(replayed));
    expect(again).toMatchObject({ status: 'completed', reward: 1, replay: { identical: true } });
    expect(again.turns.map(({ messages }) => messages)).toEqual(turns.map(({ messages }) => messages));
    expect(gateway.asked().slice(before)).toEqual([]);
  });

  it('are paid from the budget of an evaluation, at their own prices', async () => {
    const { service } = await startTeaRoom();
    const { progress, reports } = await evaluate(service, { budget: { usd: 1 } });
    expect(progress.spent.usd).toBeCloseTo(4 * 18 * COST, 10);
    expect(reports[0]?.cost).toMatchObject({
      agent: expect.closeTo(4 * 2 * COST, 10),
      user: expect.closeTo(4 * 4 * COST, 10),
      judge: expect.closeTo(4 * 12 * COST, 10),
    });
  });

  it.each([
    ['user_model', { user_model: 'unpriced' }],
    ['judge_model', { judge_model: 'unpriced' }],
  ])('have a price before an evaluation with a budget in US dollars exists: %s', async (_param, named) => {
    const { service } = await startTeaRoom();
    const reply = await ask(service, { ...named, budget: { usd: 1 } });
    expect([reply.status, reply.json]).toMatchObject([
      400,
      { error: { code: 'invalid_parameter', param: 'budget.usd', message: expect.stringContaining('"unpriced"') } },
    ]);
    expect(await service.database.kysely.selectFrom('evaluations').selectAll().execute()).toEqual([]);
  });

  it('have a price before an evaluation gets a budget in US dollars later', async () => {
    const { service } = await startTeaRoom();
    const created = await ask(service, { judge_model: 'unpriced' });
    const { evaluation_id: id } = evaluationAcceptedSchema.parse(created.json);
    const reply = await service.request(`/v1/evaluations/${id}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ budget: { usd: 1 } }),
    });
    expect([reply.status, reply.json]).toMatchObject([400, { error: { param: 'budget.usd' } }]);
  });

  it.each([
    ['user', 2.9],
    ['judge', 9],
  ])('end as over_budget, without a reward, where it does not pay for the %s', async (_side, share) => {
    const { service, gateway } = await startTeaRoom();
    const { progress, status } = await evaluate(service, { budget: { usd: share * COST }, concurrency: 1 });
    expect(status).toBe('completed');
    expect(progress.outcomes).toEqual({ over_budget: 4 });
    expect(progress.spent.usd).toBeLessThanOrEqual(share * COST);
    expect(gateway.asked().length).toBeLessThan(7);
  });

  it('are named by an evaluation, of which they are a part: others are another evaluation', async () => {
    const { service, gateway } = await startTeaRoom({});
    const named = { user_model: 'guest', judge_model: 'critic' };
    const first = await evaluate(service, { ...named, resume: true });
    expect(first).toMatchObject({ ...named, progress: { outcomes: { graded: 4 } } });
    expect(new Set(gateway.asked())).toEqual(new Set(['agent', 'guest', 'critic']));
    expect((await evaluate(service, { ...named, resume: true })).evaluation_id).toBe(first.evaluation_id);
    const other = await ask(service, { ...named, judge_model: 'agent', resume: true });
    expect(evaluationAcceptedSchema.parse(other.json).evaluation_id).not.toBe(first.evaluation_id);
  });

  it.each([
    ['user_model', 'invalid_parameter', { judge_model: 'critic' }],
    ['judge_model', 'invalid_parameter', { user_model: 'guest' }],
    ['user_model', 'invalid_parameter', { user_model: 'proctor/oracle', judge_model: 'critic' }],
    ['judge_model', 'model_not_found', { user_model: 'guest', judge_model: 'nobody' }],
  ])('have to be there before an evaluation exists: %s is %s', async (param, code, named) => {
    const { service } = await startTeaRoom({});
    const reply = await ask(service, named);
    expect(reply.json).toMatchObject({ error: { code, param } });
    expect(await service.database.kysely.selectFrom('evaluations').selectAll().execute()).toEqual([]);
  });
});
