import { describe, expect, it } from 'vitest';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { calls, delta, type Play, startModels, stream, whole } from '../../gateway.ts';
import { startService } from '../../service/runs/service.ts';
import { createAgent } from './agent.ts';
import { openSeat } from './seat.ts';

const USER = { role: 'user', content: 'Count.' };
const call = (name: string, args: object) => ({
  id: `call_${name}`,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});
const asked = (...made: ReturnType<typeof call>[]) => ({ role: 'assistant', content: null, tool_calls: made });
const told = (name: string, content: string) => ({ role: 'tool', tool_call_id: `call_${name}`, content });

const INCREMENT = 'mcp__env__increment';
const bySeat = call(INCREMENT, { by: 3 });

async function play(plays: readonly Play[]) {
  const { models } = await startModels(plays);
  const service = await startService({ models });
  const seat = await openSeat(service, { model: 'gpt-test' });
  const agent = await createAgent(seat);
  const end = async (): Promise<Trace> => {
    await agent.mcp.callTool({ name: 'submit_answer', arguments: { answer: 'done' } }).catch(() => {});
    return await service.ended(seat.trace_id);
  };
  return { agent, end, service, seat };
}

const increment = (agent: Awaited<ReturnType<typeof play>>['agent'], args: object = { by: 3 }) =>
  agent.mcp.callTool({ name: 'increment', arguments: { ...args } });

describe('the ledger of a seat', () => {
  it('is empty for an agent that calls what its model asks for, and tells it what it was given', async () => {
    const { agent, end } = await play([
      calls([INCREMENT, { by: 3 }, `call_${INCREMENT}`]),
      whole({ content: 'Done.' }),
    ]);
    await agent.say([USER], { stream: true });
    await increment(agent);
    await agent.say([USER, asked(bySeat), told(INCREMENT, 'Wall time: 0.1 s\nOutput:\n3\n')]);
    const trace = await end();
    expect(trace.ledger).toEqual([]);
    expect(trace.tool_calls).toBeUndefined();
    expect(trace.steps[0]?.tool_results).toMatchObject([{ name: 'increment', tool_call_id: `call_${INCREMENT}` }]);
  });

  it('notes a result that the agent has changed before its model saw it', async () => {
    const { agent, end } = await play([
      calls([INCREMENT, { by: 3 }, `call_${INCREMENT}`]),
      whole({ content: 'Done.' }),
    ]);
    await agent.say([USER], { stream: true });
    await increment(agent);
    await agent.say([USER, asked(bySeat), told(INCREMENT, '1000')]);
    expect((await end()).ledger).toEqual([
      {
        step: 1,
        tool_call_id: `call_${INCREMENT}`,
        kind: 'result_changed',
        name: 'increment',
        expected: '3',
        reported: '1000',
      },
    ]);
  });

  it('notes a call that the agent has made up the result of', async () => {
    const { agent, end } = await play([
      calls([INCREMENT, { by: 3 }, `call_${INCREMENT}`]),
      whole({ content: 'Done.' }),
    ]);
    await agent.say([USER], { stream: true });
    await agent.say([USER, asked(bySeat), told(INCREMENT, '3')]);
    expect((await end()).ledger).toEqual([
      {
        step: 1,
        tool_call_id: `call_${INCREMENT}`,
        kind: 'not_called',
        name: 'increment',
        expected: '{"by":3}',
        reported: '3',
      },
    ]);
  });

  it('notes calls that no model has asked for, and keeps them beside the steps', async () => {
    const { agent, end } = await play([calls([INCREMENT, { by: 3 }, `call_${INCREMENT}`])]);
    await agent.say([USER], { stream: true });
    await increment(agent, { by: 2 });
    const trace = await end();
    expect(trace.ledger).toMatchObject([
      { step: 1, kind: 'not_asked_for', name: 'increment', expected: '2', reported: '{"by":2}' },
      { step: 1, kind: 'not_called', name: 'increment', expected: '{"by":3}', reported: null },
    ]);
    expect(trace.tool_calls).toMatchObject([{ name: 'increment', arguments: { by: 2 } }]);
    expect(trace.steps[0]?.tool_results).toEqual([]);
  });

  it('leaves aside defaults, arguments of the client, its own tools and JSON around a result', async () => {
    const made = [
      call(INCREMENT, { by: 1, wait_for_previous: true }),
      call('bash', { command: 'ls' }),
      call('mcp__env__read', {}),
    ];
    const { agent, end } = await play([
      stream(
        delta({ role: 'assistant', tool_calls: made.map((each, index) => ({ index, ...each })) }),
        delta({}, 'tool_calls'),
      ),
      whole({ content: 'Done.' }),
    ]);
    await agent.say([USER], { stream: true });
    await agent.mcp.callTool({ name: 'increment', arguments: {} });
    await agent.mcp.callTool({ name: 'read', arguments: {} });
    await agent.say([
      USER,
      asked(...made),
      told(INCREMENT, JSON.stringify({ output: '<untrusted_context>\n1\n</untrusted_context>' })),
      told('bash', 'a.txt'),
      told('mcp__env__read', '1'),
    ]);
    expect((await end()).ledger).toEqual([]);
  });

  it('belongs to traces of seats with a model alone', async () => {
    const service = await startService();
    const seat = await openSeat(service);
    const { mcp } = await createAgent(seat);
    await mcp.callTool({ name: 'increment', arguments: { by: 3 } });
    await mcp.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    const trace = await service.ended(seat.trace_id);
    expect(trace).not.toHaveProperty('ledger');
    expect(trace.tool_calls).toHaveLength(1);
  });
});

describe('the branches of a trace', () => {
  it('tell the main conversation from titles and sub-agents, which go on as themselves', async () => {
    const { agent, end } = await play([
      whole({ content: 'A title' }),
      calls(['task', { prompt: 'Look.' }, 'call_task']),
      whole({ content: 'I look.' }),
      whole({ content: 'I saw.' }),
      whole({ content: 'Done.' }),
    ]);
    await agent.ask({ model: 'small', messages: [{ role: 'user', content: 'A title, please' }] });
    await agent.say([USER], { stream: true });
    const look = { role: 'user', content: 'Look.' };
    await agent.say([look]);
    await agent.say([look, { role: 'assistant', content: 'I look.' }, { role: 'user', content: 'And?' }]);
    await agent.say([
      { role: 'system', content: 'Another system text' },
      USER,
      asked(call('task', { prompt: 'Look.' })),
      told('task', 'I saw.'),
    ]);
    const { steps, outcome } = await end();
    expect(steps.map(({ branch, compacted }) => [branch, compacted])).toEqual([
      ['side-1', false],
      [null, false],
      ['agent-1', false],
      ['agent-1', false],
      [null, false],
    ]);
    expect(steps.map(({ input }) => input?.messages.length)).toEqual([1, 1, 1, 1, 1]);
    expect(steps.map(({ input }) => input?.tools?.length ?? 0)).toEqual([0, 4, 4, 0, 0]);
    expect(outcome).toBe('graded');
  });

  it('stay with the main conversation where the agent has summed up what came before', async () => {
    const { agent, end } = await play([
      calls([INCREMENT, { by: 1 }, `call_${INCREMENT}`]),
      whole({ content: 'Summary: 1.' }),
      whole({ content: 'Done.' }),
    ]);
    await agent.say([USER], { stream: true });
    await increment(agent, { by: 1 });
    await agent.say([USER, asked(call(INCREMENT, { by: 1 })), told(INCREMENT, '1')]);
    await agent.say([{ role: 'user', content: 'Before: it shows 1. Go on.' }]);
    const { steps } = await end();
    expect(steps.map(({ branch, compacted }) => [branch, compacted])).toEqual([
      [null, false],
      [null, false],
      [null, true],
    ]);
    expect(steps[2]?.input?.messages).toMatchObject([{ content: 'Before: it shows 1. Go on.' }]);
  });

  it('are never the answer', async () => {
    const { agent, service, seat } = await play([whole({ content: 'Main.' }), whole({ content: 'A title' })]);
    await agent.say([USER]);
    await agent.ask({ model: 'small', messages: [{ role: 'user', content: 'A title, please' }] });
    const ended = await service.request(`/v1/agent/seats/${seat.trace_id}/answer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect(ended.json).toMatchObject({ answer: 'Main.' });
  });
});
