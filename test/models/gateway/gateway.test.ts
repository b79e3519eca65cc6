import { describe, expect, it } from 'vitest';
import type { ModelDelta } from '../../../src/models/gateway/chat-model.ts';
import { createGatewayModel } from '../../../src/models/gateway/gateway.ts';
import { type RetryTiming, systemTiming } from '../../../src/models/gateway/retries.ts';
import { delta, frames, json, rawStream, says, startGateway, stream } from '../../gateway.ts';
import { KEY, modelFor, toRequest } from './gateway-model.ts';

const toolCallsOf = (...pieces: object[]) => delta({ tool_calls: pieces });

describe('a gateway is asked', () => {
  it('for a stream with usage, with the key, the tools and the sampling', async () => {
    const { model, gateway } = await modelFor([says('hi')]);
    await model.respond(
      toRequest({
        sampling: { temperature: 0.5, seed: 7, stream: false, model: 'other' },
        tools: [
          {
            name: 'add',
            description: 'Adds',
            input_schema: { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', properties: {} },
          },
        ],
      }),
    );
    const [request] = gateway.requests;
    expect(request?.path).toBe('/v1/chat/completions');
    expect(request?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(request?.body).toEqual({
      model: 'm-1',
      messages: [{ role: 'user', content: 'Hello' }],
      tools: [
        {
          type: 'function',
          function: { name: 'add', description: 'Adds', parameters: { type: 'object', properties: {} } },
        },
      ],
      temperature: 0.5,
      seed: 7,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('without a key where none is configured', async () => {
    const { url, requests } = await startGateway(says('hi'));
    await createGatewayModel('m', { baseUrl: url }).respond(toRequest());
    expect(requests[0]?.headers.authorization).toBeUndefined();
    expect(requests[0]?.body).not.toHaveProperty('tools');
  });

  it('without options of tools where none is offered, because gateways refuse them', async () => {
    const { model, gateway } = await modelFor([says('hi')]);
    await model.respond(toRequest({ sampling: { parallel_tool_calls: false, tool_choice: 'auto', seed: 7 } }));
    expect(Object.keys(gateway.requests[0]?.body ?? {}).sort()).toEqual(
      ['messages', 'model', 'seed', 'stream', 'stream_options'].sort(),
    );
  });

  it('with a limit of tokens under the other name once it has refused the one, which is no retry', async () => {
    const message =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    const { gateway, model } = await modelFor([json(400, { error: { message } }), says('one'), says('two')]);
    const { retries } = await model.respond(toRequest({ sampling: { max_tokens: 9 } }));
    await model.respond(toRequest({ sampling: { max_tokens: 8 } }));
    expect(retries).toBe(0);
    const limits = gateway.requests.map(({ body: { max_tokens, max_completion_tokens } }) => [
      max_tokens,
      max_completion_tokens,
    ]);
    expect(limits).toEqual([
      [9, undefined],
      [undefined, 9],
      [undefined, 8],
    ]);
  });

  it('without stream_options once it has refused them, which is no retry', async () => {
    const refusal = json(400, { error: { message: 'Unrecognized request argument supplied: stream_options' } });
    const { model, timing, gateway } = await modelFor([refusal, says('one'), says('two')]);
    const first = await model.respond(toRequest());
    await model.respond(toRequest());
    expect(first).toMatchObject({ message: { content: 'one' }, retries: 0 });
    expect(timing.sleptMs).toEqual([]);
    expect(gateway.requests.map(({ body }) => 'stream_options' in body)).toEqual([true, false, false]);
  });
});

describe('a streamed response is put together', () => {
  it('from content, reasoning and usage, with text as it comes', async () => {
    const { model } = await modelFor([
      stream(
        delta({ role: 'assistant', content: '' }),
        delta({ reasoning_content: 'Let me ' }),
        delta({ reasoning_content: 'think.' }),
        delta({ content: 'Hel' }),
        delta({ content: 'lo' }),
        delta({}, 'stop'),
        {
          choices: [],
          usage: {
            prompt_tokens: 10,
            completion_tokens: 5,
            total_tokens: 15,
            prompt_tokens_details: { cached_tokens: 4 },
            completion_tokens_details: { reasoning_tokens: 3 },
            cost: 0.25,
          },
        },
      ),
    ]);
    const deltas: ModelDelta[] = [];
    const response = await model.respond(toRequest({ onDelta: (part) => deltas.push(part) }));
    expect(response).toEqual({
      message: {
        role: 'assistant',
        content: 'Hello',
        reasoning: 'Let me think.',
        tool_calls: [],
        extra: { reasoning_field: 'reasoning_content' },
      },
      finishReason: 'stop',
      usage: {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        cached_tokens: 4,
        reasoning_tokens: 3,
        cost_usd: 0.25,
      },
      retries: 0,
      id: 'chatcmpl-1',
      model: 'm',
      tokenIds: null,
      logprobs: null,
    });
    expect(deltas).toEqual([{ reasoning: 'Let me ' }, { reasoning: 'think.' }, { content: 'Hel' }, { content: 'lo' }]);
  });

  it('when characters, frames and line breaks are split between reads', async () => {
    const bytes = Buffer.from(
      `: keep-alive\r\n\r\n${frames(delta({ content: 'Grüße 🌍\u2028!' }), delta({}, 'stop')).replaceAll('\n', '\r\n')}data: [DONE]\r\n\r\n`,
    );
    const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
    const { model } = await modelFor([rawStream(...single)]);
    expect((await model.respond(toRequest())).message.content).toBe('Grüße 🌍\u2028!');
  });

  it('when the data of a frame has several lines', async () => {
    const frame = JSON.stringify(delta({ content: 'a' }, 'stop'), null, 1).replaceAll('\n', '\r\ndata: ');
    const single = Array.from(Buffer.from(`data: ${frame}\r\n\r\n`), (byte) => Uint8Array.of(byte));
    const { model } = await modelFor([rawStream(...single)]);
    expect((await model.respond(toRequest())).message.content).toBe('a');
  });

  it('when the last frame has neither a blank line nor a [DONE] after it', async () => {
    const { model } = await modelFor([rawStream(frames(delta({ content: 'a' }), delta({}, 'stop')).trimEnd())]);
    expect((await model.respond(toRequest())).message.content).toBe('a');
  });

  it('from JSON that came although a stream was asked for', async () => {
    const { model } = await modelFor([
      json(200, {
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: null,
              tool_calls: [
                { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
                { id: 'b', type: 'function', function: { name: 'g', arguments: '' } },
              ],
            },
            finish_reason: 'tool_calls',
          },
        ],
        usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
      }),
    ]);
    const response = await model.respond(toRequest());
    expect(response.message.tool_calls).toEqual([
      { id: 'a', name: 'f', arguments: { x: 1 }, raw_arguments: null },
      { id: 'b', name: 'g', arguments: {}, raw_arguments: null },
    ]);
    expect(response.usage.total_tokens).toBe(3);
  });

  it('from JSON of several lines that says it is an event stream', async () => {
    const answer = {
      object: 'chat.completion',
      choices: [{ index: 0, message: { content: 'a' }, finish_reason: 'stop' }],
    };
    const { model } = await modelFor([rawStream(JSON.stringify(answer, null, 1).replaceAll('\n', '\r\n'))]);
    expect((await model.respond(toRequest())).message.content).toBe('a');
  });

  it('from tool calls whose pieces have no index', async () => {
    const { model } = await modelFor([
      stream(
        toolCallsOf({ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x"' } }),
        toolCallsOf({ function: { arguments: ':1}' } }),
        toolCallsOf({ id: 'b', function: { name: 'g', arguments: '{}' } }),
        delta({}, 'stop'),
      ),
    ]);
    const { message, finishReason } = await model.respond(toRequest());
    expect(message.tool_calls).toEqual([
      { id: 'a', name: 'f', arguments: { x: 1 }, raw_arguments: null },
      { id: 'b', name: 'g', arguments: {}, raw_arguments: null },
    ]);
    expect(message.content).toBeNull();
    expect(finishReason).toBe('tool_calls');
  });

  it('from two tool calls under the same index', async () => {
    const { model } = await modelFor([
      stream(
        toolCallsOf({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":' } }),
        toolCallsOf({ index: 0, function: { arguments: '1}' } }),
        toolCallsOf({ index: 0, id: 'b', function: { name: 'f', arguments: '{"x":' } }),
        toolCallsOf({ index: 0, function: { arguments: '2}' } }),
        delta({}, 'tool_calls'),
      ),
    ]);
    const { message } = await model.respond(toRequest());
    expect(message.tool_calls.map((call) => [call.id, call.arguments])).toEqual([
      ['a', { x: 1 }],
      ['b', { x: 2 }],
    ]);
  });

  it('with broken arguments kept as they came and replaced by none', async () => {
    const { model } = await modelFor([
      stream(
        toolCallsOf(
          { index: 0, id: 'a', function: { name: 'f', arguments: '{"x": 1' } },
          { index: 1, id: 'b', function: { name: 'f', arguments: '[1]' } },
        ),
        delta({}, 'length'),
      ),
    ]);
    const { message } = await model.respond(toRequest());
    expect(message.tool_calls).toEqual([
      { id: 'a', name: 'f', arguments: {}, raw_arguments: '{"x": 1' },
      { id: 'b', name: 'f', arguments: {}, raw_arguments: '[1]' },
    ]);
  });

  it('also when the connection is lost after the model had said that it is done', async () => {
    let cut = () => {};
    const { model, timing } = await modelFor([
      (response) => {
        cut = () => response.socket?.resetAndDestroy();
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(frames(delta({ content: 'all of it' }), delta({}, 'stop')));
      },
    ]);
    const response = await model.respond(toRequest({ onDelta: () => cut() }));
    expect(response).toMatchObject({ message: { content: 'all of it' }, retries: 0, usage: { cost_usd: null } });
    expect(timing.sleptMs).toEqual([]);
  });
});

describe('an aborted request', () => {
  it('rejects with the reason of the signal and closes the socket, in the middle of a stream', async () => {
    const { model, gateway } = await modelFor([
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(frames(delta({ content: 'never ' })));
      },
    ]);
    const controller = new AbortController();
    const reason = new Error('the run was cancelled');
    const response = model.respond(toRequest({ signal: controller.signal, onDelta: () => controller.abort(reason) }));
    await expect(response).rejects.toBe(reason);
    await gateway.clientClosed;
  });

  it('rejects with the reason of the signal and closes the socket, before anything came', async () => {
    const { model, gateway } = await modelFor([() => {}]);
    const controller = new AbortController();
    const reason = new Error('the run was cancelled');
    const response = model.respond(toRequest({ signal: controller.signal }));
    const rejection = expect(response).rejects.toBe(reason);
    await gateway.asked;
    controller.abort(reason);
    await rejection;
    await gateway.clientClosed;
  });

  it('is not sent when the signal was aborted before', async () => {
    const { model, gateway } = await modelFor([says('hi')]);
    await expect(model.respond(toRequest({ signal: AbortSignal.abort(new Error('no')) }))).rejects.toThrow('no');
    expect(gateway.requests).toEqual([]);
  });

  it('does not wait for its next try', async () => {
    const gateway = await startGateway(json(429, { error: { message: 'slow down' } }, { 'retry-after': '50' }));
    const controller = new AbortController();
    const sleep: RetryTiming['sleep'] = (milliseconds, signal) => {
      const slept = systemTiming.sleep(milliseconds, signal);
      controller.abort(new Error('the run is over'));
      return slept;
    };
    const model = createGatewayModel('m', { baseUrl: gateway.url, timing: { ...systemTiming, sleep } });
    await expect(model.respond(toRequest({ signal: controller.signal }))).rejects.toThrow('the run is over');
    expect(gateway.requests).toHaveLength(1);
  });
});
