import { scriptedModel } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import type { ModelDelta } from '../../../src/models/gateway/chat-model.ts';
import { toRequest, USER_MESSAGE } from './gateway-model.ts';

describe('a scripted model', () => {
  it('answers a list in order and keeps what it was asked', async () => {
    const model = scriptedModel([
      {
        reasoning: 'hm',
        toolCalls: [
          { name: 'f', arguments: { x: 1 } },
          { name: 'g', rawArguments: '{"' },
        ],
      },
      { toolCalls: [{ name: 'f', id: 'mine' }], content: 'again', usage: { total_tokens: 3 }, retries: 1 },
      'done',
      { content: 'cut', finishReason: 'length' },
    ]);
    const messages = [USER_MESSAGE];
    const deltas: ModelDelta[] = [];
    const first = await model.respond(toRequest({ messages, onDelta: (part) => deltas.push(part) }));
    messages.push(first.message);
    expect(first).toMatchObject({
      message: {
        role: 'assistant',
        content: null,
        reasoning: 'hm',
        tool_calls: [
          { id: 'call_1', name: 'f', arguments: { x: 1 }, raw_arguments: null },
          { id: 'call_2', name: 'g', arguments: {}, raw_arguments: '{"' },
        ],
      },
      finishReason: 'tool_calls',
      retries: 0,
      tokenIds: null,
      logprobs: null,
    });
    expect(deltas).toEqual([{ reasoning: 'hm' }]);
    expect(await model.respond(toRequest({ messages }))).toMatchObject({
      message: { content: 'again', tool_calls: [{ id: 'mine' }] },
      usage: { total_tokens: 3, prompt_tokens: 0, cost_usd: null },
      retries: 1,
    });
    expect(await model.respond(toRequest())).toMatchObject({ message: { content: 'done' }, finishReason: 'stop' });
    expect(await model.respond(toRequest())).toMatchObject({ message: { content: 'cut' }, finishReason: 'length' });
    expect(model.requests.map((request) => request.messages.length)).toEqual([1, 2, 1, 1]);
    expect(model.name).toBe('scripted');
  });

  it('fails beyond the end of its list, saying so', async () => {
    const model = scriptedModel(['one'], { name: 'mine' });
    await model.respond(toRequest());
    expect(model.name).toBe('mine');
    await expect(model.respond(toRequest())).rejects.toMatchObject({
      boundary: 'model',
      code: 'model_failed',
      message: 'The scripted model has 1 responses and was asked for number 2',
    });
  });

  it('answers by a function of the request, and fails with an error of the script', async () => {
    const failure = new Error('the gateway is down');
    const model = scriptedModel((request, index) => (index === 0 ? `${request.messages.length} message` : failure));
    expect((await model.respond(toRequest())).message.content).toBe('1 message');
    await expect(model.respond(toRequest())).rejects.toBe(failure);
  });

  it('rejects with the reason of the signal, also while its function waits', async () => {
    const controller = new AbortController();
    const model = scriptedModel(() => {
      controller.abort(new Error('cancelled'));
      return new Promise(() => {});
    });
    await expect(model.respond(toRequest({ signal: controller.signal }))).rejects.toThrow('cancelled');
    await expect(model.respond(toRequest({ signal: controller.signal }))).rejects.toThrow('cancelled');
    expect(model.requests).toHaveLength(1);
  });
});
