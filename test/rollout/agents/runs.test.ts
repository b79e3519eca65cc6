import { describe, expect, it } from 'vitest';
import { startService, traceIdOf } from '../../service/runs/service.ts';
import { agentsOf, plays, written } from './agents.ts';

const agents = agentsOf({
  counts: plays('solves'),
  exits: plays('exits'),
  never: plays('never'),
  fills: plays('fills'),
  broken: { command: ['/bin/sh', '-c', 'exit 0'], needs: 'none' },
});

/** Plays a run to its end. */
async function play(agent: string, body: object = {}) {
  const service = await startService({ agents });
  const reply = await service.run({ agent, model: undefined, ...body });
  expect(reply.status, reply.text).toBe(200);
  return await service.ended(traceIdOf(reply));
}

describe('a run with an agent that brings its own model', () => {
  it('is an ordinary run: it is graded, and its trace names the agent', async () => {
    const trace = await play('counts');
    expect(trace).toMatchObject({
      ...{ status: 'completed', stop_reason: 'answered', outcome: 'graded', reward: 1, agent: 'counts' },
      ...{ origin: 'run', model: 'external', answer: 'The counter shows 3.', steps: [] },
    });
    expect(trace.tool_calls).toMatchObject([{ name: 'increment', arguments: { by: 3 }, is_error: false }]);
  });

  it('is failed as the agent where that exits before it has answered', async () => {
    const trace = await play('exits');
    expect(trace).toMatchObject({ status: 'failed', outcome: 'agent_error', reward: 0 });
    expect(trace.error).toEqual({
      boundary: 'agent',
      code: 'agent_failed',
      message: 'The agent exits exited with code 7, before it had answered',
    });
    expect(written(trace, 'stderr')).toContain('I give up');
  });

  it('is failed as the agent where that never came to its seat', async () => {
    expect(await play('broken')).toMatchObject({ status: 'failed', outcome: 'agent_error', reward: 0 });
  });

  it('has the same reward in an evaluation where the agent crashed', async () => {
    const service = await startService({ agents });
    const post = { method: 'POST', headers: { 'content-type': 'application/json' } };
    const tasks = [{ id: 'three', env: 'counter', scenario: 'count_to', args: { target: 3 } }];
    const body = JSON.stringify({ name: 'crashes', agent: 'exits', tasks, attempts: 1 });
    const begun = await service.request('/v1/evaluations', { ...post, body });
    expect(begun.status, begun.text).toBe(200);
    const { evaluation_id } = begun.json as { readonly evaluation_id: string };
    const path = `/v1/evaluations/${evaluation_id}`;
    expect((await service.request(`${path}?wait=60`)).json).toMatchObject({ status: 'completed' });
    const ended = { outcome: 'agent_error', reward: 0 };
    expect((await service.request(`${path}/attempts`)).json).toMatchObject({ data: [ended] });
    expect((await service.request('/v1/traces?max_reward=0')).json).toMatchObject({ data: [ended] });
  });

  it('ends at its time, and is graded as it stands', async () => {
    const trace = await play('never', { timeout_seconds: 5 });
    expect(trace).toMatchObject({ status: 'completed', stop_reason: 'timeout', outcome: 'limit', reward: 1 });
  });

  it('keeps the first and the last mebibyte of what the agent writes', async () => {
    const trace = await play('fills');
    const text = written(trace);
    expect(text.startsWith('the first line')).toBe(true);
    expect(text.endsWith('the last line')).toBe(true);
    expect(text).toMatch(/… \d+ bytes were left out here …/);
    expect(Buffer.byteLength(text)).toBeGreaterThan(2 * 1_024 * 1_024 - 4_096);
    expect(Buffer.byteLength(text)).toBeLessThan(2 * 1_024 * 1_024 + 4_096);
    expect(trace.reward).toBe(1);
  });
});

describe('a request that names an agent', () => {
  it('is refused where there is none of that name', async () => {
    const service = await startService({ agents });
    const reply = await service.run({ agent: 'conts' });
    expect(reply.status).toBe(404);
    expect(reply.json).toMatchObject({ error: { code: 'agent_not_found', param: 'agent' } });
    expect(reply.text).toContain('counts');
    expect(await service.countRuns()).toBe(0);
  });

  it('starts no program that nobody has configured', async () => {
    const service = await startService({ agents });
    const reply = await service.run({ agent: 'acp:/bin/sh -c true' });
    expect(reply.status).toBe(400);
    expect(reply.json).toMatchObject({ error: { code: 'invalid_parameter', param: 'agent' } });
  });

  it('needs a model where the agent does not bring its own', async () => {
    const service = await startService({ agents: agentsOf({ asks: { command: ['sh'] } }) });
    const reply = await service.run({ agent: 'asks', model: undefined });
    expect(reply.json).toMatchObject({ error: { code: 'missing_required_parameter', param: 'model' } });
    const reference = await service.run({ agent: 'asks', model: 'proctor/oracle' });
    expect(reference.json).toMatchObject({ error: { code: 'invalid_parameter', param: 'model' } });
    const none = await service.run({ model: undefined });
    expect(none.json).toMatchObject({ error: { code: 'missing_required_parameter', param: 'model' } });
  });
});
