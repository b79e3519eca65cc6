import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { says, startGateway } from '../../gateway.ts';
import { until } from '../../until.ts';
import { errorOf, finishedOf, serve, svcOf } from './server.ts';

const DESK = inMemory(() => {
  const env = new EnvironmentServer({ name: 'desk', version: '1.0.0' });
  env.tool('ask', {}, async (_args, { sample }) => {
    const { content } = await sample({ messages: [{ role: 'user', content: 'Hi' }], maxTokens: 9 });
    return String(content.text);
  });
  const args = { judge_script: z.array(z.boolean()).optional() };
  for (const judge of [true, false]) {
    env.scenario(judge ? 'judged' : 'perhaps', { args, judge }, async function* (_args, ctx) {
      const answer: string = yield 'Be polite.';
      const { score } = await ctx.judge({ rubric: 'SECRET: it is polite.', material: answer, votes: 2 });
      return score;
    });
  }
  return env;
});

const SAYS: Record<string, string> = {
  agent: 'Dear Ada.',
  critic: '{"score": true, "reason": "It is."}',
  broken: 'No.',
};

/** A server whose gateway answers as the model that is asked. */
async function serveDesk(judge?: string, more: Parameters<typeof serve>[0] = {}) {
  const asked: string[] = [];
  const gateway = await startGateway((response, request) => {
    const model = String(request.body.model);
    asked.push(model);
    const text = SAYS[model];
    return says(...(text === undefined ? [] : [text]))(response);
  });
  const models = createModels({
    gateways: [{ pattern: '*', baseUrl: gateway.url, prices: { input: 1, output: 1 } }],
    harness: { judge },
  });
  const server = await serve({ environments: new Map([['desk', DESK]]), models, model: 'agent', ...more });
  return { server, asked, gateway };
}

const start = { scenario: 'judged', scenario_args: {} };

describe('the judge of a chat session', () => {
  it('is models.judge of the configuration, and is asked once the session is finished; its cost is apart', async () => {
    const { server, asked, gateway } = await serveDesk('critic');
    const { session_id, trace_id } = svcOf(await server.chat('Go on.', start));
    expect(asked).toEqual(['agent']);
    const finished = await server.post(`/v1/sessions/${session_id}/finish`);
    expect(finishedOf(finished)).toMatchObject({ status: 'finished', reward: 1 });
    expect(asked).toEqual(['agent', 'critic', 'critic']);
    const trace = await server.store.trace(trace_id);
    expect(trace).toMatchObject({
      usage: { model_calls: 1, judge: { model_calls: 2, cost_usd: expect.closeTo(30e-6, 12) } },
      judgements: [{ model: 'critic', material: 'Dear Ada.', score: 1 }],
    });
    expect(trace?.usage.cost_usd).toBeCloseTo(15e-6, 12);
    expect(JSON.stringify(gateway.requests[0]?.body)).not.toContain('SECRET');
  });

  it('is asked when the session expires', async () => {
    const { server } = await serveDesk('critic', { sessionTtlMs: 1_000 });
    const { session_id } = svcOf(await server.chat('Go on.', start));
    const ended = await until(async () => {
      const { json } = await server.get(`/v1/sessions/${session_id}`);
      return (
        (json as { status: string }).status === 'expired' && (await server.post(`/v1/sessions/${session_id}/finish`))
      );
    });
    expect(finishedOf(ended)).toMatchObject({ status: 'expired', reward: 1 });
  });

  it('has to be there before the session, where its scenario cannot do without', async () => {
    const { server, asked } = await serveDesk();
    const refused = await server.chat('Go on.', start);
    expect(errorOf(refused)).toEqual([400, 'invalid_parameter', 'scenario']);
    expect(refused.text).toContain('models.judge');
    const { json } = await server.post('/v1/lifecycle-tools/call', { name: 'scenario_start', arguments: start });
    expect(json).toMatchObject({ isError: true, structuredContent: { error: { code: 'invalid_parameter' } } });
    expect(asked).toEqual([]);
    expect((await server.get('/v1/sessions?status=all')).json).toMatchObject({ sessions: [] });
    // Verdicts among the arguments are nobody's judge.
    const given = await server.chat('Go on.', { ...start, scenario_args: { judge_script: [true] } });
    expect(errorOf(given)).toEqual([400, 'invalid_parameter', 'scenario']);
  });

  it('may be the one of the script, where the configuration says so', async () => {
    const { server } = await serveDesk('proctor/judge-script');
    const begun = await server.chat('Go on.', { ...start, scenario_args: { judge_script: [true, false] } });
    const finished = await server.post(`/v1/sessions/${svcOf(begun).session_id}/finish`);
    expect(finishedOf(finished)).toMatchObject({ reward: 0.5 });
  });

  it.each([
    [undefined, 'set models.judge in the configuration'],
    ['broken', 'gave no verdict that fits, twice'],
  ])('fails the session without a reward where it is %s', async (judge, told) => {
    const { server } = await serveDesk(judge);
    const { session_id, trace_id } = svcOf(await server.chat('Go on.', { ...start, scenario: 'perhaps' }));
    const failed = await server.post(`/v1/sessions/${session_id}/finish`);
    expect(failed.status).toBe(502);
    expect(failed.text).toContain(told);
    expect(await server.store.trace(trace_id)).toMatchObject({ outcome: 'grader_error', reward: null });
  });
});
