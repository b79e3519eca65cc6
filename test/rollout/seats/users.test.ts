import { fileURLToPath } from 'node:url';
import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { calls, says, startModels, whole } from '../../gateway.ts';
import { startService, traceIdOf } from '../../service/runs/service.ts';
import { agentsOf } from '../agents/agents.ts';
import { createAgent } from './agent.ts';
import { openSeat, postSeat, sitDown } from './seat.ts';

const ASKS = fileURLToPath(new URL('../agents/fixtures/asks.mjs', import.meta.url));
const BOOKING = {
  env_name: 'desk',
  scenario_name: 'booking',
  scenario_args: { user_script: ['QK4TZ1', 'Thanks ###STOP###'] },
};

function startDesk(more: Parameters<typeof startService>[0] = {}, prompt: string | [] = 'A user wants a flight.') {
  const seen: unknown[] = [];
  const desk = inMemory(() => {
    const env = new EnvironmentServer({ name: 'desk', version: '1.0.0' });
    env.tool('book', {}, () => 'booked');
    env.scenario(
      'booking',
      { args: { user_script: z.array(z.string()).optional() }, user: { instructions: 'You are Ines.', maxTurns: 3 } },
      async function* (_args, ctx) {
        yield prompt;
        seen.push(ctx.conversation);
        return 1;
      },
    );
    env.scenario('judged', { judge: true }, async function* (_args, ctx) {
      const answer: string = yield 'Be polite.';
      const { score } = await ctx.judge({ rubric: 'It is polite.', material: answer });
      return score;
    });
    return env;
  });
  return { seen, starting: startService({ environments: new Map([['desk', desk]]), ...more }) };
}

function say(agent: Awaited<ReturnType<typeof sitDown>>, message: unknown) {
  return agent.callTool({ name: 'message_user', arguments: { message } as Record<string, unknown> });
}

describe('the simulated user of a scenario, at a seat', () => {
  it('is talked with by message_user, and its evaluation has the conversation', async () => {
    const { seen, starting } = startDesk();
    const service = await starting;
    const seat = await openSeat(service, BOOKING);
    const agent = await sitDown(seat);
    expect((await agent.listTools()).tools.map(({ name }) => name)).toEqual(['book', 'message_user', 'submit_answer']);
    expect(await say(agent, 'Your code?')).toMatchObject({ content: [{ text: 'QK4TZ1' }] });
    expect(await say(agent, '  ')).toMatchObject({ isError: true });
    expect(await say(agent, 'Done. ###STOP###')).toMatchObject({
      content: [{ text: 'Thanks\n(The user has ended the conversation.)' }],
    });
    expect(await say(agent, 'Still there?')).toMatchObject({ isError: true });
    await agent.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    const trace = await service.ended(seat.trace_id);
    expect(trace).toMatchObject({ status: 'completed', stop_reason: 'answered', reward: 1 });
    expect(trace.tool_calls?.map(({ name }) => name)).toEqual(Array(4).fill('message_user'));
    expect(seen).toEqual([
      [
        { role: 'user', content: 'A user wants a flight.' },
        { role: 'assistant', content: 'Your code?' },
        { role: 'user', content: 'QK4TZ1' },
        { role: 'assistant', content: 'Done. ###STOP###' },
        { role: 'user', content: 'Thanks' },
      ],
    ]);
    const replay = await service.request(`/v1/traces/${seat.trace_id}/replay`, { method: 'POST' });
    const replayed = await service.ended(traceIdOf(replay));
    expect(replayed.replay).toEqual({ identical: true, difference: null });
    expect(seen[1]).toEqual(seen[0]);
  });

  it('begins where the scenario has no prompt: its words are the task', async () => {
    const { starting } = startDesk({}, []);
    const service = await starting;
    const seat = await openSeat(service, BOOKING);
    expect(seat.prompt).toEqual([{ role: 'user', content: 'QK4TZ1' }]);
    const agent = await sitDown(seat);
    expect(await agent.getPrompt({ name: 'task' })).toMatchObject({ messages: [{ content: { text: 'QK4TZ1' } }] });
    await Promise.all([say(agent, 'one'), say(agent, 'two')]);
    await agent.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    expect(await service.ended(seat.trace_id)).toMatchObject({ reward: 1 });
  });

  it('is a model of its own, which the agent cannot ask; its cost is apart, and no ledger misses it', async () => {
    const { models, gateway } = await startModels([
      calls(['mcp__env__message_user', { message: 'Your code?' }]),
      says('QK4TZ1'),
      says('Booked.'),
    ]);
    const { starting, seen } = startDesk({ models });
    const service = await starting;
    const seat = await openSeat(service, {
      ...BOOKING,
      scenario_args: {},
      model: 'agent-model',
      user_model: 'user-model',
    });
    const agent = await createAgent(seat);
    await agent.say('Go.');
    expect(await say(agent.mcp, 'Your code?')).toMatchObject({ content: [{ text: 'QK4TZ1' }] });
    expect(gateway.requests.map(({ body }) => (body as { model: string }).model)).toEqual([
      'agent-model',
      'user-model',
    ]);
    await agent.mcp.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    const trace = await service.ended(seat.trace_id);
    expect(trace).toMatchObject({ reward: 1, ledger: [], usage: { model_calls: 1, user: { model_calls: 1 } } });
    expect(seen[0]).toHaveLength(3);
  });

  it('is talked with by an agent that is a command, and not by its last text', async () => {
    const { models } = await startModels([
      calls(['message_user', { message: 'Your code?' }, 'call_1']),
      calls(['message_user', { message: 'Booked.' }, 'call_2']),
      says('All is done.'),
    ]);
    const { starting, seen } = startDesk({
      models,
      agents: agentsOf({ asks: { command: ['node', ASKS, '{mcp_url}', '{prompt}', 'plays'] } }),
    });
    const service = await starting;
    const reply = await service.run({ ...BOOKING, agent: 'asks', model: 'agent-model' });
    const trace = await service.ended(traceIdOf(reply));
    expect(trace).toMatchObject({
      status: 'completed',
      stop_reason: 'answered',
      reward: 1,
      answer: 'All is done.',
      ledger: [],
    });
    expect(trace.turns).toHaveLength(1);
    expect(seen).toEqual([
      [
        { role: 'user', content: 'A user wants a flight.' },
        { role: 'assistant', content: 'Your code?' },
        { role: 'user', content: 'QK4TZ1' },
        { role: 'assistant', content: 'Booked.' },
        { role: 'user', content: 'Thanks' },
      ],
    ]);
  });

  it('has to have a model before a run exists, and so has a judge', async () => {
    const { starting } = startDesk();
    const service = await starting;
    const without = await postSeat(service, { ...BOOKING, scenario_args: {} });
    expect(without).toMatchObject({ status: 400, json: { error: { param: 'user_model' } } });
    const unjudged = await postSeat(service, { ...BOOKING, scenario_name: 'judged', scenario_args: {} });
    expect(unjudged).toMatchObject({ status: 400, json: { error: { param: 'judge_model' } } });
    expect(await service.countRuns()).toBe(0);
  });

  it('fails the run where its model fails, and says nothing of the agent', async () => {
    const { models } = await startModels([whole({ content: '' }), whole({ content: '' })]);
    const { starting } = startDesk({ models });
    const service = await starting;
    const seat = await openSeat(service, { ...BOOKING, scenario_args: {}, user_model: 'user-model' });
    const agent = await sitDown(seat);
    await say(agent, 'Your code?').catch(() => {});
    expect(await service.ended(seat.trace_id)).toMatchObject({
      status: 'failed',
      outcome: 'infra_error',
      error: { code: 'user_error' },
    });
  });
});

describe('a judge, at a seat', () => {
  it('judges the answer', async () => {
    const { models } = await startModels([whole({ content: '{"score":true,"reason":"It is."}' })]);
    const { starting } = startDesk({ models });
    const service = await starting;
    const seat = await openSeat(service, {
      ...BOOKING,
      scenario_name: 'judged',
      scenario_args: {},
      judge_model: 'judge-model',
    });
    const agent = await sitDown(seat);
    await agent.callTool({ name: 'submit_answer', arguments: { answer: 'Please.' } });
    expect(await service.ended(seat.trace_id)).toMatchObject({ reward: 1, usage: { judge: { model_calls: 1 } } });
  });
});
