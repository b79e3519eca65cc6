import { expect, it } from 'vitest';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { calls, says, startModels, whole } from '../../gateway.ts';
import { askModel, createAgent } from '../../rollout/seats/agent.ts';
import { openSeat } from '../../rollout/seats/seat.ts';
import { errorOf } from '../../service/chat/server.ts';
import { startService, type TestService } from '../../service/runs/service.ts';

async function post(service: TestService, path: string, body: object = {}) {
  const headers = { 'content-type': 'application/json' };
  return await service.request(path, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function replay(service: TestService, traceId: string): Promise<Trace> {
  const reply = await post(service, `/v1/traces/${traceId}/replay`);
  return await service.ended((reply.json as { trace_id: string }).trace_id);
}

it('a replay of an agent at a seat tells its main conversation from those beside it, and cannot be forked within either', async () => {
  const { models } = await startModels([
    calls(['mcp__env__increment', { by: 3 }, 'call_1']),
    whole({ content: 'A title' }),
    says('It is 3.'),
  ]);
  const service = await startService({ models });
  const seat = await openSeat(service, { model: 'm', answer: 'either' });
  const agent = await createAgent(seat);
  const asked = [{ role: 'user', content: 'Count to 3' }];
  const { json } = await agent.say(asked);
  const { message } = (json as { choices: [{ message: object }] }).choices[0];
  expect(
    (
      await askModel(seat, '/v1/chat/completions', {
        model: 'any',
        messages: [{ role: 'user', content: 'A title, please' }],
      })
    ).status,
  ).toBe(200);
  const { content } = await agent.mcp.callTool({ name: 'increment', arguments: { by: 3 } });
  const result = { role: 'tool', tool_call_id: 'call_1', content };
  await agent.say([...asked, message, result]);
  await agent.mcp.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
  const before = await service.ended(seat.trace_id);
  const branchesOf = ({ steps }: Trace) => steps.map(({ branch }) => branch);
  expect(branchesOf(before)).toEqual([null, 'side-1', null]);
  const again = await replay(service, seat.trace_id);
  expect(again).toMatchObject({ status: 'completed', replay: { identical: true }, reward: 1 });
  expect(branchesOf(again)).toEqual(branchesOf(before));
  expect(branchesOf(await replay(service, again.trace_id))).toEqual(branchesOf(before));
  for (const { trace_id } of [before, again]) {
    const refused = await post(service, '/v1/agent/run', { fork: { trace_id, after_step: 1 } });
    expect(errorOf(refused)).toEqual([400, 'invalid_parameter', 'fork.after_step']);
  }
});

it('a fork of an agent that had a model of its own has to name one', async () => {
  const service = await startService();
  const seat = await openSeat(service);
  const { mcp } = await createAgent(seat);
  await mcp.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
  await service.ended(seat.trace_id);
  const fork = { trace_id: seat.trace_id, after_step: 0 };
  const refused = await post(service, '/v1/agent/run', { fork });
  expect(errorOf(refused)).toEqual([400, 'missing_required_parameter', 'model']);
  const reply = await post(service, '/v1/agent/run', { fork, model: 'proctor/oracle' });
  expect(await service.ended((reply.json as { trace_id: string }).trace_id)).toMatchObject({ reward: 1 });
});
