import { describe, expect, it } from 'vitest';
import { startService } from '../../service/runs/service.ts';
import { openSeat, sitDown, sitDownV1 } from './seat.ts';

describe.each(['legacy', 'modern'] as const)('an agent at a seat, with a %s client', (mode) => {
  it('sees the tools of its scenario and submit_answer, plays, and learns nothing of its reward', async () => {
    const service = await startService();
    const seat = await openSeat(service);
    const agent = await sitDown(seat, mode);
    const { tools } = await agent.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['increment', 'read', 'slow_increment', 'submit_answer']);
    expect((await agent.listPrompts()).prompts.map(({ name }) => name)).toEqual(['task']);
    const { messages } = await agent.getPrompt({ name: 'task' });
    expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: seat.prompt[0]?.content } }]);
    expect((await agent.callTool({ name: 'increment', arguments: { by: 3 } })).content).toEqual([
      { type: 'text', text: '3' },
    ]);
    const submitted = await agent.callTool({ name: 'submit_answer', arguments: { answer: 'It shows 3.' } });
    expect(submitted.structuredContent).toEqual({ received: true });
    expect(JSON.stringify(submitted)).not.toContain('reward');
    const trace = await service.ended(seat.trace_id);
    expect(trace).toMatchObject({
      origin: 'agent',
      status: 'completed',
      stop_reason: 'answered',
      model: 'external',
      answer: 'It shows 3.',
      reward: 1,
      steps: [],
      usage: { tool_calls: 1, model_calls: 0 },
      turns: [{ turn: 1, status: 'answered', steps: [] }],
    });
    expect(trace.tool_calls).toMatchObject([
      { name: 'increment', arguments: { by: 3 }, content: [{ type: 'text', text: '3' }], is_error: false },
    ]);
  });
});

describe('an agent at a seat', () => {
  it('may be a client of the first line of the SDK, with the secret in the path', async () => {
    const service = await startService();
    const seat = await openSeat(service);
    const agent = await sitDownV1(seat);
    await agent.callTool({ name: 'increment', arguments: { by: 3 } });
    await agent.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    expect(await service.ended(seat.trace_id)).toMatchObject({ status: 'completed', reward: 1 });
  });
});
