import { describe, expect, it } from 'vitest';
import { startBusyGateway } from '../../busy-gateway.ts';
import { startTestWorker } from './attempts.ts';
import { addEvaluation, CONNECT, reservedOf, spentOf } from './rows.ts';

const PRICES = { input: 1, cached: 0.1, output: 10 };
const USAGE = {
  prompt_tokens: 1_000,
  completion_tokens: 100,
  total_tokens: 1_100,
  prompt_tokens_details: { cached_tokens: 400 },
};
/** Of one such call, in US dollars. */
const COST = (600 * 1 + 400 * 0.1 + 100 * 10) / 1_000_000;

describe('the model calls of an attempt', { timeout: 30_000 }, () => {
  it('cost what the prices say, cached tokens apart, and are counted', async () => {
    const [database] = await CONNECT.SQLite(1);
    const gateway = await startBusyGateway({ usage: USAGE });
    const evaluationId = await addEvaluation(database);
    const worker = startTestWorker(database, { baseUrl: gateway.url, prices: PRICES });
    const [response] = await worker.attempt(evaluationId, 3);
    expect(response?.usage).toMatchObject({ cached_tokens: 400, cost_usd: expect.closeTo(COST, 10) });
    expect(await spentOf(database, evaluationId)).toEqual({ usd: expect.closeTo(3 * COST, 10), tokens: 3_300 });
    // Without a budget nothing is sent beside what was asked for.
    expect(gateway.bodies[0]).not.toHaveProperty('max_tokens');
  });

  it('cost what the gateway says where it does, and nothing is known without prices', async () => {
    const [database] = await CONNECT.SQLite(1);
    const evaluationId = await addEvaluation(database);
    const telling = await startBusyGateway({ usage: { ...USAGE, cost: 0.5 } });
    const [told] = await startTestWorker(database, { baseUrl: telling.url, prices: PRICES }).attempt(evaluationId, 1);
    expect(told?.usage.cost_usd).toBe(0.5);
    const silent = await startBusyGateway({ usage: USAGE });
    const [unknown] = await startTestWorker(database, { baseUrl: silent.url }).attempt(evaluationId, 1);
    expect(unknown?.usage.cost_usd).toBeNull();
    const mute = await startBusyGateway();
    const [none] = await startTestWorker(database, { baseUrl: mute.url, prices: PRICES }).attempt(evaluationId, 1);
    expect(none?.usage.cost_usd).toBeNull();
  });

  it.each([
    [{}, undefined, { max_tokens: 16_384 }],
    [{}, 500, { max_tokens: 500 }],
    [{ max_tokens: 70 }, 500, { max_tokens: 70 }],
    [{ max_completion_tokens: 80 }, 500, { max_completion_tokens: 80 }],
  ])('with a budget are sent with a limit of tokens: sampling %j, maxOutputTokens %s', async (sampling, most, sent) => {
    const [database] = await CONNECT.SQLite(1);
    const gateway = await startBusyGateway({ usage: USAGE });
    const evaluationId = await addEvaluation(database, { budget_tokens: 100_000 });
    const worker = startTestWorker(database, { baseUrl: gateway.url, maxOutputTokens: most });
    await worker.attempt(evaluationId, 1, { sampling });
    const { max_tokens, max_completion_tokens } = gateway.bodies[0] ?? {};
    expect(JSON.parse(JSON.stringify({ max_tokens, max_completion_tokens }))).toEqual(sent);
  });

  it('end over_budget when the next one may cost more than what is left, and nothing stays reserved', async () => {
    const [database] = await CONNECT.SQLite(1);
    const gateway = await startBusyGateway({ usage: USAGE });
    const evaluationId = await addEvaluation(database, { budget_usd: 3.5 * COST });
    const worker = startTestWorker(database, { baseUrl: gateway.url, prices: PRICES, maxOutputTokens: 60 });
    await expect(worker.attempt(evaluationId, 10)).rejects.toMatchObject({
      boundary: 'model',
      code: 'over_budget',
      message: expect.stringContaining('higher'),
    });
    expect(gateway.bodies).toHaveLength(3);
    expect((await spentOf(database, evaluationId)).usd).toBeCloseTo(3 * COST, 10);
    expect(await reservedOf(database, evaluationId)).toMatchObject({ count: 0 });
  });

  it('end over_budget at once for a budget in US dollars of a model without a price', async () => {
    const [database] = await CONNECT.SQLite(1);
    const gateway = await startBusyGateway({ usage: USAGE });
    const evaluationId = await addEvaluation(database, { budget_usd: 100 });
    const worker = startTestWorker(database, { baseUrl: gateway.url });
    expect(worker.models.canPrice('m-1')).toBe(false);
    expect(worker.models.canPrice('proctor/oracle')).toBe(true);
    await expect(worker.attempt(evaluationId, 1)).rejects.toMatchObject({ code: 'over_budget' });
    expect(gateway.bodies).toHaveLength(0);
  });

  it('that are cut off in the middle cost what was said, and are made again', async () => {
    const [database] = await CONNECT.SQLite(1);
    const gateway = await startBusyGateway({ usage: USAGE, callMs: 200 });
    const evaluationId = await addEvaluation(database, { budget_tokens: 100_000 });
    const running = startTestWorker(database, { baseUrl: gateway.url }).attempt(evaluationId, 1);
    await expect.poll(() => gateway.peak).toBe(1);
    await gateway.goAway();
    await gateway.comeBack();
    const [response] = await running;
    expect(response).toMatchObject({
      message: { content: 'Hello' },
      retries: expect.toSatisfy((retries: number) => retries > 0),
    });
    expect((await spentOf(database, evaluationId)).tokens).toBeGreaterThanOrEqual(1_100);
    expect(await reservedOf(database, evaluationId)).toMatchObject({ count: 0 });
  });
});
