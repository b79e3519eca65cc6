import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { evaluationDetailSchema } from '../../../src/contract/service/evaluation.ts';
import { calls, delta, type Play, says, startModels, stream } from '../../gateway.ts';
import { startService, traceIdOf } from '../../service/runs/service.ts';
import { agentsOf, written } from './agents.ts';

const ASKS = fileURLToPath(new URL('fixtures/asks.mjs', import.meta.url));
const asks = (way: string) => ({ command: ['node', ASKS, '{mcp_url}', '{prompt}', way] });
const agents = agentsOf({
  asks: { ...asks('plays'), version: '1.2' },
  crashes: asks('crashes'),
  toolless: asks('toolless'),
});

const SOLVED = [calls(['increment', { by: 3 }]), says('It shows 3.')];

async function register(service: Awaited<ReturnType<typeof startService>>, model: object) {
  const reply = await service.request('/v1/models/registered', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ base: 'base-1', ...model }),
  });
  expect(reply.status, reply.text).toBeLessThan(300);
}

async function play(agent: string, plays: Parameters<typeof startModels>[0], body: object = {}) {
  const { models, gateway } = await startModels(plays);
  const service = await startService({ agents, models });
  const reply = await service.run({ agent, model: 'gpt-test', ...body });
  expect(reply.status, reply.text).toBe(200);
  return { trace: await service.ended(traceIdOf(reply)), gateway };
}

describe('a run with an agent and a registered model', () => {
  it('asks the checkpoint that is named, and its trace says which', async () => {
    const { models, gateway } = await startModels(SOLVED);
    const service = await startService({ agents, models });
    await register(service, { name: 'clerk', target: 'base-1', checkpoints: [{ step: 50, target: 'tuned-50' }] });
    const reply = await service.run({ agent: 'asks', model: 'clerk@50' });
    expect(await service.ended(traceIdOf(reply))).toMatchObject({
      ...{ outcome: 'graded', reward: 1, model: 'clerk@50', model_target: 'tuned-50' },
    });
    expect(gateway.requests[0]?.body).toMatchObject({ model: 'tuned-50' });
    expect(await service.run({ agent: 'asks', model: 'clerk@51' })).toMatchObject({ status: 404 });
  });

  it('is refused before it exists where that stands for a reference model, which no agent can ask', async () => {
    const { models } = await startModels([]);
    const service = await startService({ agents, models });
    await register(service, { name: 'echo', target: 'proctor/oracle', base: 'proctor/oracle' });
    const reply = await service.run({ agent: 'asks', model: 'echo' });
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('plays by itself')]);
    expect(await service.countRuns()).toBe(0);
  });
});

describe('a fork', () => {
  it('is refused with an agent, which cannot go on where another one was', async () => {
    const { models } = await startModels([]);
    const service = await startService({ agents, models });
    const fork = { trace_id: '0'.repeat(32), after_step: 0 };
    const reply = await service.run({ agent: 'asks', model: 'gpt-test', fork });
    expect(reply).toMatchObject({ status: 400, json: { error: { param: 'agent' } } });
  });
});

describe('a run with an agent that asks a model of its seat', () => {
  it('is answered with its last text when it has ended, and its trace has both sides', async () => {
    const { trace, gateway } = await play('asks', SOLVED, { sampling: { temperature: 0.5 }, seed: 3 });
    expect(trace).toMatchObject({
      ...{ status: 'completed', outcome: 'graded', reward: 1, answer: 'It shows 3.', agent: 'asks', model: 'gpt-test' },
      ...{ usage: { model_calls: 2, tool_calls: 1, total_tokens: 30 }, ledger: [] },
    });
    expect(trace.steps).toMatchObject([
      { branch: null, input: { dialect: 'chat', model: 'whatever' }, tool_results: [{ name: 'increment' }] },
      { branch: null, message: { content: 'It shows 3.' } },
    ]);
    expect(gateway.requests[0]?.body).toMatchObject({ model: 'gpt-test', temperature: 0.5, seed: 3 });
    expect(written(trace)).toBe('It shows 3.');
  });

  it('is failed as the agent where that crashes in the middle of its work', async () => {
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'increment', arguments: '{"by":3}' } };
    const began = stream(delta({ content: 'I begin to count.', tool_calls: [call] }), delta({}, 'tool_calls'));
    const { trace } = await play('crashes', [began, says('It shows 3.')]);
    expect(trace).toMatchObject({ status: 'failed', outcome: 'agent_error', error: { code: 'agent_failed' } });
  });

  it('is invalid where the agent never had its tools, though it has asked its model', async () => {
    const { trace } = await play('toolless', [says('What could I do?')]);
    expect(trace).toMatchObject({ status: 'failed', outcome: 'invalid', evaluation: null });
    expect(trace.error).toMatchObject({ boundary: 'agent', code: 'agent_without_tools' });
  });

  it('ends at its steps, and is graded as it stands', async () => {
    const { trace } = await play('asks', [calls(['increment', { by: 3 }]), calls(['read', {}])], { max_steps: 1 });
    expect(trace).toMatchObject({ status: 'completed', stop_reason: 'max_steps', outcome: 'limit', reward: 1 });
  });

  it('is failed as the model where the gateway cannot be had', async () => {
    const refused: Play = (response) =>
      void response.writeHead(403, { 'content-type': 'application/json' }).end('{"error":{"message":"No such key"}}');
    const { trace } = await play('asks', [calls(['increment', { by: 3 }]), refused]);
    expect(trace).toMatchObject({ status: 'failed', outcome: 'model_error', error: { boundary: 'model' } });
  });
});

describe('an evaluation with an agent', () => {
  async function evaluate(body: object, plays = SOLVED, gateway = {}) {
    const { models } = await startModels(plays, gateway);
    const service = await startService({ agents, models });
    const tasks = [{ id: 'three', env: 'counter', scenario: 'count_to', args: { target: 3 } }];
    const reply = await service.request('/v1/evaluations', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ tasks, models: ['gpt-test'], agent: 'asks', ...body }),
    });
    return { service, reply, id: (reply.json as { evaluation_id?: string }).evaluation_id ?? '' };
  }

  it('has every attempt played by it, with each model', async () => {
    const { service, reply, id } = await evaluate({});
    expect(reply.status, reply.text).toBe(200);
    const ended = evaluationDetailSchema.parse((await service.request(`/v1/evaluations/${id}?wait=60`)).json);
    expect(ended).toMatchObject({ status: 'completed', agent: 'asks', models: ['gpt-test'] });
    expect(ended.reports).toMatchObject([{ model: 'gpt-test', mean: 1, outcomes: { graded: 1 } }]);
    const attempts = await service.request(`/v1/evaluations/${id}/attempts`);
    const [attempt] = (attempts.json as { data: { trace_id: string; steps: number }[] }).data;
    expect(attempt).toMatchObject({ steps: 2, usage: { total_tokens: 30 } });
    expect(await service.ended(attempt?.trace_id ?? '')).toMatchObject({ agent: 'asks', origin: 'eval' });
  });

  it('holds its budget for the calls of the agent too', async () => {
    const { service, id } = await evaluate({ budget: { tokens: 10 } });
    const ended = evaluationDetailSchema.parse((await service.request(`/v1/evaluations/${id}?wait=60`)).json);
    expect(ended).toMatchObject({ status: 'completed', progress: { outcomes: { over_budget: 1 } } });
  });

  it('is another one with another agent, and the same with the same', async () => {
    const { service, id } = await evaluate({ resume: true });
    const again = async (agent: string | null) => {
      const tasks = [{ id: 'three', env: 'counter', scenario: 'count_to', args: { target: 3 } }];
      const reply = await service.request('/v1/evaluations', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ tasks, models: ['gpt-test'], agent, resume: true }),
      });
      return (reply.json as { evaluation_id: string }).evaluation_id;
    };
    expect(await again('asks')).toBe(id);
    expect(await again('crashes')).not.toBe(id);
    expect(await again(null)).not.toBe(id);
  });

  it('is refused where there is no such agent, and where a model is missing that it needs', async () => {
    expect((await evaluate({ agent: 'nobody' })).reply.json).toMatchObject({ error: { code: 'agent_not_found' } });
    const without = (await evaluate({ models: undefined })).reply;
    expect(without.json).toMatchObject({ error: { code: 'missing_required_parameter', param: 'models' } });
  });
});
