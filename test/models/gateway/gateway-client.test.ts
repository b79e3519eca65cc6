import { OpenAI } from 'openai';
import { describe, expect, it, vi } from 'vitest';
import { createGatewayModel } from '../../../src/models/gateway/gateway.ts';
import { delta, fakeTiming, json, startGateway } from '../../gateway.ts';
import { KEY, toRequest } from './gateway-model.ts';

describe('a client of the caller', () => {
  it('may be an openai client, whose own retries are off and which may be answered in JSON', async () => {
    const { url, requests } = await startGateway(
      json(500, { error: { message: 'down' } }),
      json(200, { choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }] }),
    );
    const client = new OpenAI({ baseURL: url, apiKey: KEY, maxRetries: 5 });
    const timing = fakeTiming();
    const response = await createGatewayModel('m', { client, timing }).respond(toRequest());
    expect(response).toMatchObject({ message: { content: 'hi' }, finishReason: 'stop', retries: 1 });
    expect(requests).toHaveLength(2);
    expect(timing.sleptMs).toHaveLength(1);
  });

  it('may be anything with chat.completions.create, streaming or not', async () => {
    const answers: unknown[] = [
      (async function* () {
        yield delta({ content: 'streamed' });
        yield delta({}, 'stop');
      })(),
      { choices: [{ index: 0, message: { role: 'assistant', content: 'whole' }, finish_reason: 'stop' }] },
    ];
    const model = createGatewayModel('m', {
      client: { chat: { completions: { create: async () => answers.shift() } } },
    });
    expect((await model.respond(toRequest())).message.content).toBe('streamed');
    expect((await model.respond(toRequest())).message.content).toBe('whole');
  });

  it('may take as long as it likes while it does not fall silent', async () => {
    vi.useFakeTimers();
    try {
      const create = async () =>
        (async function* () {
          for (const content of ['a', 'b', 'c']) {
            await vi.advanceTimersByTimeAsync(80);
            yield delta({ content });
          }
          yield delta({}, 'stop');
        })();
      const model = createGatewayModel('m', { client: { chat: { completions: { create } } }, idleTimeoutMs: 100 });
      expect((await model.respond(toRequest())).message.content).toBe('abc');
    } finally {
      vi.useRealTimers();
    }
  });

  it('that does not listen to its signal is left when that is aborted', async () => {
    const controller = new AbortController();
    const create = () => {
      queueMicrotask(() => controller.abort(new Error('enough')));
      return new Promise(() => {});
    };
    const model = createGatewayModel('m', { client: { chat: { completions: { create } } } });
    await expect(model.respond(toRequest({ signal: controller.signal }))).rejects.toThrow('enough');
  });
});
