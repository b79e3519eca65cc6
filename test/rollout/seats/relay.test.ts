import { describe, expect, it } from 'vitest';
import { json, type Play, rawStream, says, startModels } from '../../gateway.ts';
import { startService } from '../../service/runs/service.ts';
import { askModel, createAgent } from './agent.ts';
import { openSeat } from './seat.ts';

async function startSeat(
  plays: readonly Play[],
  dialects: ('chat' | 'responses' | 'messages' | 'gemini')[],
  request = {},
) {
  const { models, gateway } = await startModels(plays, {
    dialects,
    apiKey: 'sk-gateway',
    prices: { input: 1, output: 1 },
  });
  const service = await startService({ models });
  const seat = await openSeat(service, { model: 'm-target', ...request });
  return { service, gateway, seat };
}

const event = (data: { type: string; [field: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

const MESSAGES = [
  event({
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      usage: { input_tokens: 12, output_tokens: 0 },
    },
  }),
  event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', of_their_own: 'kept' } }),
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi ' } }),
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'there.' } }),
  event({ type: 'content_block_stop', index: 0 }),
  event({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 4 },
  }),
  event({ type: 'message_stop' }),
];

describe('a gateway that speaks the protocol of the agent', () => {
  it('gets the request of Messages as it is, but for model and sampling, and its bytes go back as they are', async () => {
    const { seat, gateway, service } = await startSeat([rawStream(...MESSAGES)], ['messages'], {
      sampling: { temperature: 0.5 },
    });
    const body = {
      model: 'claude-any',
      max_tokens: 100,
      temperature: 1,
      stream: true,
      system: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: 'Hello' }],
    };
    const reply = await askModel(seat, '/v1/messages', body, {
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'some-beta',
    });
    expect(reply.text).toBe(MESSAGES.join(''));
    expect(gateway.requests).toMatchObject([
      {
        path: '/v1/messages',
        headers: { 'x-api-key': 'sk-gateway', 'anthropic-version': '2023-06-01', 'anthropic-beta': 'some-beta' },
        body: { ...body, model: 'm-target', temperature: 0.5 },
      },
    ]);
    expect(gateway.requests[0]?.headers.authorization).toBeUndefined();
    expect((await service.store.trace(seat.trace_id))?.steps).toMatchObject([
      {
        message: { content: 'Hi there.' },
        finish_reason: 'stop',
        usage: { prompt_tokens: 12, completion_tokens: 4, cost_usd: 0.000016 },
        input: { dialect: 'messages', model: 'claude-any' },
      },
    ]);
  });

  it('that answers without a stream is handed on byte for byte', async () => {
    const answer = {
      id: 'x',
      model: 'm',
      of_their_own: [1],
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.', of_theirs: true }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    };
    const { seat } = await startSeat([json(200, answer)], ['chat']);
    const reply = await askModel(seat, '/v1/chat/completions', {
      model: 'x',
      messages: [{ role: 'user', content: 'a' }],
    });
    expect(reply.json).toEqual(answer);
  });

  it('is asked by chat completions in what it does not speak', async () => {
    const { seat, gateway } = await startSeat([says('Hi there.')], ['chat', 'responses']);
    const reply = await askModel(seat, '/v1/messages', {
      model: 'x',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(reply.json).toMatchObject({ type: 'message', content: [{ type: 'text', text: 'Hi there.' }] });
    expect(gateway.requests).toMatchObject([{ path: '/v1/chat/completions', body: { max_tokens: 9 } }]);
  });

  it('that does not know stream_options is asked without them', async () => {
    const { seat, gateway } = await startSeat(
      [json(400, { error: { message: 'unknown field stream_options' } }), says('Hi.')],
      ['chat'],
    );
    const reply = await askModel(seat, '/v1/chat/completions', {
      model: 'x',
      stream: true,
      messages: [{ role: 'user', content: 'a' }],
    });
    expect(reply.text).toContain('Hi.');
    expect(gateway.requests.map(({ body }) => 'stream_options' in body)).toEqual([true, false]);
  });

  it('that streams an error in place of the rest has it handed on, without a step', async () => {
    const error = event({ type: 'error', error: { type: 'overloaded_error', message: 'busy' } });
    const { seat, service } = await startSeat([rawStream(...MESSAGES.slice(0, 3), error)], ['messages']);
    const reply = await askModel(seat, '/v1/messages', {
      model: 'x',
      max_tokens: 9,
      stream: true,
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(reply.text).toContain('event: error');
    expect(reply.text).not.toContain('message_stop');
    const trace = await service.store.trace(seat.trace_id);
    expect(trace?.steps).toEqual([]);
  });
});

describe('the sampling of the run', () => {
  it("wins field by field; where it is silent the agent's limits, stop, tool choice and format pass", async () => {
    const { seat, gateway } = await startSeat([says('Hi.')], ['chat'], {
      sampling: { temperature: 0, max_tokens: 50 },
      seed: 3,
    });
    const agent = await createAgent(seat);
    await agent.say('Hello', {
      temperature: 1,
      max_completion_tokens: 900,
      stop: ['END'],
      tool_choice: 'auto',
      seed: 9,
      user: 'me',
    });
    const { body } = gateway.requests[0] ?? {};
    expect(body).toMatchObject({ temperature: 0, max_tokens: 50, seed: 3, stop: ['END'], tool_choice: 'auto' });
    expect(body).not.toHaveProperty('max_completion_tokens');
    await askModel(seat, '/v1/messages', {
      model: 'x',
      max_tokens: 9,
      stop_sequences: ['STOP'],
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(gateway.requests[1]?.body).toMatchObject({ temperature: 0, max_tokens: 50, seed: 3, stop: ['STOP'] });
  });
});
