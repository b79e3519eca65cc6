import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { BoundaryError } from '../../../src/contract/errors.ts';
import type { GatewayOptions } from '../../../src/models/gateway/gateway.ts';
import { delta, frames, json, type Play, rawStream, says, stream } from '../../gateway.ts';
import { KEY, modelFor, toRequest } from './gateway-model.ts';

/** What a run is told, and how often the gateway was asked. */
async function failureOf(plays: Play[], options: Partial<GatewayOptions> = {}) {
  const { gateway, model, timing } = await modelFor(plays, options);
  const error = await model.respond(toRequest()).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof BoundaryError)) throw new Error(`Expected a BoundaryError, got ${String(error)}`);
  return { ...error.toBody(), error, gateway, asked: gateway.requests.length, sleptMs: timing.sleptMs };
}

const reset: Play = (response) => response.socket?.resetAndDestroy();
const silence: Play = () => {};
const openAiError = (message: string, fields: object = {}) => ({
  error: { message, type: 'invalid_request_error', param: null, code: null, ...fields },
});

describe('a passing failure is tried again, at most twice', () => {
  it('429 with retry-after in seconds', async () => {
    const { model, timing } = await modelFor([json(429, openAiError('slow down'), { 'retry-after': '2' }), says('hi')]);
    expect(await model.respond(toRequest())).toMatchObject({ message: { content: 'hi' }, retries: 1 });
    expect(timing.sleptMs).toEqual([2_000]);
  });

  it('with retry-after-ms, with an HTTP date, and never longer than 60 s', async () => {
    const { model, timing } = await modelFor([
      json(503, openAiError('full'), { 'retry-after-ms': '150', 'retry-after': '9' }),
      json(503, openAiError('full'), { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }),
      says('one'),
      json(503, openAiError('full'), { 'retry-after': '3600' }),
      says('two'),
    ]);
    expect((await model.respond(toRequest())).retries).toBe(2);
    expect((await model.respond(toRequest())).retries).toBe(1);
    expect(timing.sleptMs).toEqual([150, 30_000, 60_000]);
  });

  it.each([408, 409, 500, 502, 503, 504, 529])('status %i, waiting ever longer', async (status) => {
    const failure = await failureOf([json(status, openAiError('try later'))]);
    expect(failure).toMatchObject({ boundary: 'model', code: 'model_failed', asked: 3, sleptMs: [500, 1_000] });
    expect(failure.message).toBe(`Model m-1: the gateway answered ${status} (3 tries): try later`);
  });

  it('a connection that is reset', async () => {
    const { model } = await modelFor([reset, reset, says('hi')]);
    expect((await model.respond(toRequest())).retries).toBe(2);
  });

  it('a gateway that is not there', async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => probe.once('listening', resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    const { code, message, sleptMs } = await failureOf([], {
      baseUrl: `http://127.0.0.1:${port}/v1`,
    } as GatewayOptions);
    expect(code).toBe('model_failed');
    expect(message).toContain('ECONNREFUSED');
    expect(message).toContain('PROCTOR_GATEWAY_URL');
    expect(sleptMs).toHaveLength(2);
  });

  it('a stream that is cut before the first token', async () => {
    const cut = rawStream(frames(delta({ role: 'assistant', content: '' })));
    const { model } = await modelFor([cut, says('hi')]);
    expect(await model.respond(toRequest())).toMatchObject({ message: { content: 'hi' }, retries: 1 });
  });

  it('an error frame with a numeric code before the first token', async () => {
    const { model } = await modelFor([stream({ error: { code: 502, message: 'Provider down' } }), says('hi')]);
    expect((await model.respond(toRequest())).retries).toBe(1);
  });
});

describe('a lasting failure is told at once', () => {
  it.each([
    [400, 'bad request'],
    [401, 'Incorrect API key'],
    [403, 'not allowed'],
    [404, 'no such model'],
    [413, 'too big'],
    [422, 'unprocessable'],
  ])('status %i', async (status, text) => {
    const failure = await failureOf([json(status, openAiError(text))]);
    expect(failure).toMatchObject({ boundary: 'model', code: 'model_failed', asked: 1 });
    expect(failure.message).toContain(`answered ${status}: ${text}`);
  });

  it('a quota that is used up', async () => {
    const failure = await failureOf([
      json(429, openAiError('You exceeded your quota', { code: 'insufficient_quota' })),
    ]);
    expect(failure).toMatchObject({ code: 'model_failed', asked: 1 });
  });

  it('a gateway that says not to try again', async () => {
    const failure = await failureOf([json(409, openAiError('busy'), { 'x-should-retry': 'false' })]);
    expect(failure.asked).toBe(1);
  });

  it('200 with an error as its body', async () => {
    const failure = await failureOf([json(200, openAiError('model is loading'))]);
    expect(failure).toMatchObject({ code: 'model_failed', asked: 1 });
    expect(failure.message).toBe('Model m-1: the gateway answered an error: model is loading');
  });

  it('a web page, whose connection is not kept', async () => {
    const page: Play = (response) => response.writeHead(200, { 'content-type': 'text/html' }).write('<html>');
    const failure = await failureOf([page]);
    expect(failure.asked).toBe(1);
    expect(failure.message).toContain('web page');
    expect(failure.message).toContain('/v1');
    await failure.gateway.clientClosed;
  });

  it('a gateway that hangs', async () => {
    const failure = await failureOf([silence], { idleTimeoutMs: 1_000 });
    expect(failure).toMatchObject({
      code: 'model_timeout',
      message: 'Model m-1: the gateway sent nothing for 1 s',
      asked: 1,
    });
    await failure.gateway.clientClosed;
  });

  it('a gateway that hangs in the middle of a stream', async () => {
    const failure = await failureOf(
      [
        (response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(frames(delta({ content: 'Hel' })));
        },
      ],
      { idleTimeoutMs: 1_000 },
    );
    expect(failure).toMatchObject({ code: 'model_timeout', asked: 1 });
    await failure.gateway.clientClosed;
  });
});

describe('after the first token nothing is tried again', () => {
  it('when the stream is cut', async () => {
    const failure = await failureOf([rawStream(frames(delta({ content: 'Hel' })), 'data: [DONE]\n\n')]);
    expect(failure).toMatchObject({ code: 'model_failed', asked: 1 });
    expect(failure.message).toContain('the stream ended without a finish_reason');
  });

  it('when the stream is cut within a tool call', async () => {
    const piece = delta({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{"x' } }] });
    expect(await failureOf([rawStream(frames(piece))])).toMatchObject({ code: 'model_failed', asked: 1 });
  });

  it('when the connection is lost', async () => {
    let cut = () => {};
    const { model, timing } = await modelFor([
      (response) => {
        cut = () => response.socket?.resetAndDestroy();
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(frames(delta({ content: 'Hel' })));
      },
    ]);
    await expect(model.respond(toRequest({ onDelta: () => cut() }))).rejects.toMatchObject({ code: 'model_failed' });
    expect(timing.sleptMs).toEqual([]);
  });

  it.each([
    ['an error object', { error: { message: 'Overloaded', type: 'server_error', code: null } }],
    ['a numeric code', { error: { message: 'Overloaded', code: 503 } }],
    ["vLLM's form", { object: 'error', message: 'Overloaded', type: 'InternalServerError', code: 500 }],
    ['a text', { error: 'Overloaded' }],
  ])('when an error frame comes: %s', async (_, frame) => {
    const failure = await failureOf([stream(delta({ content: 'Hel' }), frame)]);
    expect(failure).toMatchObject({ code: 'model_failed', asked: 1 });
    expect(failure.message).toContain('Overloaded');
  });

  it('when the stream ends with the finish_reason "error"', async () => {
    const failure = await failureOf([stream(delta({ content: 'Hel' }), delta({}, 'error'))]);
    expect(failure).toMatchObject({ code: 'model_failed', asked: 1 });
  });
});

describe('a transcript that is too long for the model is context_length_exceeded', () => {
  it.each([
    ['OpenAI, by code', 400, openAiError('too long', { code: 'context_length_exceeded' })],
    [
      'OpenAI, by text',
      400,
      openAiError("This model's maximum context length is 8192 tokens. However, you requested 9000"),
    ],
    ['Anthropic', 400, openAiError('prompt is too long: 210000 tokens > 200000 maximum')],
    [
      'Gemini',
      400,
      [
        {
          error: {
            code: 400,
            message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
            status: 'INVALID_ARGUMENT',
          },
        },
      ],
    ],
    [
      'llama.cpp',
      400,
      {
        error: {
          code: 400,
          message: 'the request exceeds the available context size',
          type: 'exceed_context_size_error',
        },
      },
    ],
    [
      'vLLM',
      400,
      {
        object: 'error',
        message: 'The decoder prompt (length 9000) is longer than the maximum model length of 8192',
        code: 400,
      },
    ],
    [
      'OpenRouter, of its provider',
      400,
      {
        error: {
          message: 'Provider returned error',
          code: 400,
          metadata: { raw: 'Input is too long for requested model.' },
        },
      },
    ],
    [
      'a server that calls it its own fault',
      500,
      openAiError('prompt too long; exceeded max context length by 12 tokens'),
    ],
  ])('%s', async (_, status, body) => {
    expect(await failureOf([json(status, body)])).toMatchObject({ code: 'context_length_exceeded', asked: 1 });
  });

  it('but not a rate limit in tokens', async () => {
    const failure = await failureOf([json(429, openAiError('Request is too long for your tokens per minute'))]);
    expect(failure).toMatchObject({ code: 'model_failed', asked: 3 });
  });
});

describe("a gateway's own words are told", () => {
  it.each([
    [
      "Gemini's list",
      [{ error: { code: 400, message: 'Unknown name "seed"', status: 'INVALID_ARGUMENT' } }],
      'Unknown name "seed"',
    ],
    ["FastAPI's detail", { detail: 'no such deployment' }, 'no such deployment'],
    ["FastAPI's list", { detail: [{ loc: ['body', 'model'], msg: 'field required' }] }, 'field required'],
    ['an error that is a text', { error: 'model not loaded' }, 'model not loaded'],
    ['a numeric code', { error: { code: 1234, message: 'quota of the day' } }, 'quota of the day'],
  ])('%s', async (_, body, text) => {
    expect((await failureOf([json(400, body)])).message).toContain(text);
  });

  it('from a body that is no JSON, on one line, without control characters, cut to 1 KiB', async () => {
    const body = `<h1>Bad\u0000\u001b[31m\r\nrequest</h1>${'ä'.repeat(5_000)}`;
    const page: Play = (response) => response.writeHead(400, { 'content-type': 'text/html' }).end(body);
    const { message } = await failureOf([page]);
    const start = 'Model m-1: the gateway answered 400: ';
    expect(message.startsWith(`${start}<h1>Bad [31m request</h1>ää`)).toBe(true);
    expect(message.endsWith('ä…')).toBe(true);
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(1_024 + start.length);
  });

  it('without keys, neither in the message nor in its causes', async () => {
    const secrets = [
      KEY,
      'sk-proj-abc123DEF456',
      'eyJhbGciOi.payload.sig',
      'AIzaSyA1234567890abcdefghij',
      'hunter2pass',
    ];
    const text = `Key ${KEY}; got sk-proj-abc123DEF456 from Authorization: Bearer eyJhbGciOi.payload.sig at https://user:hunter2pass@host/?key=AIzaSyA1234567890abcdefghij`;
    const { error, message } = await failureOf([json(401, openAiError(text))]);
    const told = `${message} ${error.stack} ${error.cause instanceof Error ? `${error.cause.message} ${error.cause.stack}` : ''}`;
    for (const secret of secrets) expect(told).not.toContain(secret);
    expect(message).toContain('answered 401');
    expect(message).toContain('PROCTOR_GATEWAY_API_KEY');
  });

  it("without stacks and paths of the gateway's machine, neither in the message nor in its causes", async () => {
    const text =
      'Invalid API key, see https://gateway.example/docs/errors\n    at Object.<anonymous> (/srv/gateway/index.js:10:5)';
    const { error, message } = await failureOf([json(401, openAiError(text))]);
    const told = `${message} ${error.cause instanceof Error ? error.cause.message : ''}`;
    expect(told).not.toMatch(/srv|index\.js|Object\.<anonymous>/);
    expect(message).toContain('answered 401: Invalid API key, see https://gateway.example/docs/errors');
  });

  it('without the key where it is the key itself that cannot be sent', async () => {
    const { error, message } = await failureOf([says('hi')], { apiKey: `${KEY}\nmore` } as GatewayOptions);
    expect(`${message} ${String(error.cause)}`).not.toContain(KEY);
  });
});
