import { describe, expect, it } from 'vitest';
import {
  attemptListSchema,
  evaluationAcceptedSchema,
  evaluationDetailSchema,
} from '../../../src/contract/service/evaluation.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { startBusyGateway } from '../../busy-gateway.ts';
import { startService, type TestService } from './service.ts';

const TASKS = Array.from({ length: 12 }, (_, index) => ({
  id: `count-${index}`,
  env: 'counter',
  scenario: 'count_to',
  args: { target: 3 },
}));
const USAGE = { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 };
const PRICES = { input: 1, output: 10 };
const COST = 0.001_01;

async function evaluate(service: TestService, body: object) {
  const reply = await service.request('/v1/evaluations', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tasks: TASKS, ...body }),
  });
  expect(reply.status, reply.text).toBe(200);
  const id = evaluationAcceptedSchema.parse(reply.json).evaluation_id;
  const ended = async () => {
    return evaluationDetailSchema.parse((await service.request(`/v1/evaluations/${id}?wait=60`)).json);
  };
  const attempts = async () => {
    const { json } = await service.request(`/v1/evaluations/${id}/attempts?limit=100`);
    return attemptListSchema.parse(json).data;
  };
  return { ended, attempts };
}

describe('the model calls of an evaluation', { timeout: 60_000 }, () => {
  it('are paid from its budget: what it does not pay for is over_budget, without a reward', async () => {
    const gateway = await startBusyGateway({ usage: USAGE });
    const models = createModels({
      gateways: [{ pattern: '*', baseUrl: gateway.url, prices: PRICES, maxOutputTokens: 100 }],
    });
    const service = await startService({ models });
    const { ended, attempts } = await evaluate(service, { models: ['m'], budget: { usd: 5.9 * COST }, concurrency: 4 });
    const { status, progress, reports } = await ended();
    expect(status).toBe('completed');
    expect(progress.spent.usd).toBeLessThanOrEqual(5.9 * COST);
    expect(progress.outcomes).toMatchObject({ graded: 5, over_budget: 7 });
    expect(gateway.bodies).toHaveLength(5);
    expect(reports[0]?.cost.agent).toBeCloseTo(5 * COST);
    for (const { outcome, reward } of await attempts()) {
      if (outcome === 'over_budget') expect(reward).toBeNull();
    }
  });

  it('of reference models cost nothing, and budgets do not stop them', async () => {
    const service = await startService();
    const { ended } = await evaluate(service, { models: ['proctor/oracle'], budget: { usd: 0.01, tokens: 1 } });
    expect(await ended()).toMatchObject({
      progress: { outcomes: { graded: 12 }, spent: { usd: 0, tokens: 0 } },
      reports: [{ cost: { agent: 0 } }],
    });
  });

  it('wait for a gateway that is away: no attempt is scored 0 for it, and none is run again', async () => {
    const gateway = await startBusyGateway({ callMs: 100 });
    const models = createModels({ gateways: [{ pattern: '*', baseUrl: gateway.url }] });
    const service = await startService({ models });
    const { ended } = await evaluate(service, { models: ['m'], attempts: 4, concurrency: 8 });
    await expect.poll(() => gateway.answered, { timeout: 30_000 }).toBeGreaterThan(8);
    await gateway.goAway();
    await expect
      .poll(async () => (await service.database.kysely.selectFrom('gateway_limits').selectAll().execute()).length, {
        timeout: 30_000,
      })
      .toBe(2);
    await gateway.comeBack();
    const { progress, concurrency_history } = await ended();
    expect(progress).toMatchObject({ done: 48, reruns: 0, outcomes: { graded: 48 } });
    const reasons = concurrency_history.map(({ reason }) => reason);
    expect(reasons).toEqual(expect.arrayContaining(['start', 'held', 'released']));
  });

  it('that the gateway refuses for good are not run again', async () => {
    const gateway = await startBusyGateway();
    gateway.failWith(401);
    const models = createModels({ gateways: [{ pattern: '*', baseUrl: gateway.url }] });
    const service = await startService({ models });
    const { ended, attempts } = await evaluate(service, { tasks: TASKS.slice(0, 2), models: ['m'] });
    expect(await ended()).toMatchObject({ progress: { reruns: 0, outcomes: { model_error: 2 } } });
    expect((await attempts()).map(({ error }) => error?.status)).toEqual([401, 401]);
  });
});
