import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { calls, says, startModels } from '../../gateway.ts';
import { startService } from '../../service/runs/service.ts';
import { openSeat, sitDown } from './seat.ts';

describe('an agent whose model calls go to its seat', () => {
  it('plays a scenario with a real OpenAI client and a real MCP client, and its trace has both', async () => {
    const { models, gateway } = await startModels([calls(['mcp__env__increment', { by: 3 }]), says('It shows 3.')], {
      prices: { input: 1, output: 2 },
    });
    const service = await startService({ models });
    const seat = await openSeat(service, { model: 'gpt-test', sampling: { temperature: 0.25 }, seed: 7 });
    expect(seat.model).toMatchObject({
      api_key: expect.stringMatching(/^seat_/),
      openai_base_url: `${service.url}/v1`,
    });
    const agent = await sitDown(seat);
    const { tools } = await agent.listTools();
    const client = new OpenAI({ baseURL: seat.model?.openai_base_url, apiKey: seat.model?.api_key ?? '' });
    const offered = tools.map((tool) => ({
      type: 'function' as const,
      function: { name: `mcp__env__${tool.name}`, parameters: tool.inputSchema },
    }));
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Count to 3.' }];
    const ask = () =>
      client.chat.completions.stream({ model: 'any-name', temperature: 1, messages, tools: offered }).finalMessage();
    const first = await ask();
    const [call] = first.tool_calls ?? [];
    if (call?.type !== 'function') throw new Error('No call');
    expect(call.function).toMatchObject({ name: 'mcp__env__increment' });
    const result = await agent.callTool({ name: 'increment', arguments: JSON.parse(call.function.arguments) });
    messages.push(first, { role: 'tool', tool_call_id: call.id, content: JSON.stringify(result.content) });
    expect((await ask()).content).toBe('It shows 3.');
    const ended = await service.request(`/v1/agent/seats/${seat.trace_id}/answer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect(ended.json).toMatchObject({
      status: 'completed',
      stop_reason: 'answered',
      outcome: 'graded',
      reward: 1,
      answer: 'It shows 3.',
      model: 'gpt-test',
      ledger: [],
      steps: [
        {
          step: 1,
          branch: null,
          compacted: false,
          input: { dialect: 'chat', model: 'any-name', messages: [{ role: 'user', content: 'Count to 3.' }] },
          message: { tool_calls: [{ name: 'mcp__env__increment', arguments: { by: 3 } }] },
          tool_results: [{ name: 'increment', tool_call_id: call.id, arguments: { by: 3 } }],
        },
        { step: 2, branch: null, message: { content: 'It shows 3.' }, tool_results: [] },
      ],
      usage: { model_calls: 2, tool_calls: 1, prompt_tokens: 20, completion_tokens: 10, cost_usd: 0.00004 },
    });
    expect(ended.json).not.toHaveProperty('tool_calls');
    expect(gateway.requests[0]?.body).toMatchObject({ model: 'gpt-test', temperature: 0.25, seed: 7, stream: true });
  });
});
