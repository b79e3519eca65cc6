import { request as openRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { calls, delta, frames, json, type Play, rawStream, says, startGateway, stream, USAGE } from '../../gateway.ts';
import type { Reply } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import createWorkbench, { LONG_TEXT, PIXEL } from './fixtures/workbench.ts';
import {
  completionOf,
  errorOf,
  finishedOf,
  framesOf,
  serve,
  svcOf,
  type TestServer,
  type TestServerOptions,
} from './server.ts';

const WORK = { scenario: 'work', scenario_args: {} };

type WorkServer = TestServer & {
  /** What the gateway was sent in its n-th request, from 0. */
  sent(request: number): Message[];
  traceOf(reply: Reply): Promise<Trace>;
  /** What happened in the environment. */
  logOf(reply: Reply): Promise<string[]>;
};

interface Message {
  readonly role: string;
  readonly content: unknown;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly arguments: string } }[];
  readonly [field: string]: unknown;
}

/** A scenario server with the workbench. */
async function bench(plays: readonly Play[], options: TestServerOptions = {}): Promise<WorkServer> {
  const environments = new Map([['workbench', inMemory(createWorkbench)]]);
  const server = await serve({ environments, plays, ...options });
  return {
    ...server,
    sent: (request) => server.gateway.requests[request]?.body.messages as Message[],
    traceOf: async ({ headers }) => {
      const trace = await server.store.trace(String(headers['x-svc-trace-id']));
      if (trace === undefined) throw new Error('There is no trace');
      return trace;
    },
    logOf: async ({ headers }) => {
      const finished = await server.post(`/v1/sessions/${headers['x-svc-session-id']}/finish`);
      return finishedOf(finished).evaluation.info.log as string[];
    },
  };
}

/** The last `count` messages. */
const tail = (messages: readonly Message[], count: number) => messages.slice(-count);
const textOf = (reply: Reply) => completionOf(reply).choices[0].message.content;
const streamed = (server: TestServer, fields: object = WORK) => server.chat('Go.', { stream: true, ...fields });
/** The text of a streamed reply, as a client puts it together. */
const streamedText = (reply: Reply) =>
  framesOf(reply)
    .map((frame) => (frame === '[DONE]' ? '' : (frame.choices?.[0]?.delta.content ?? '')))
    .join('');
const lastFrame = (reply: Reply) => framesOf(reply).at(-1);

describe('the calls of one response', () => {
  it('run in order, and are answered in order before the model is asked again', async () => {
    const server = await bench([calls(['saw', { name: 'oak' }], ['saw', { name: 'elm' }]), says('Done.')]);
    const reply = await server.chat('Go.', WORK);
    const [asked, one, two] = tail(server.sent(1), 3);
    expect([asked?.role, one?.content, two?.content]).toEqual(['assistant', 'sawn oak', 'sawn elm']);
    expect([one?.tool_call_id, two?.tool_call_id]).toEqual(asked?.tool_calls?.map(({ id }) => id));
    expect(await server.logOf(reply)).toEqual(['oak begun', 'oak sawn', 'elm begun', 'elm sawn']);
    expect(svcOf(reply).steps).toBe(2);
  });

  it('run together where all of them are annotated read-only', async () => {
    const server = await bench([calls(['meet', { name: 'a' }], ['meet', { name: 'b' }]), says('Met.')]);
    const reply = await server.chat('Go.', WORK);
    expect(tail(server.sent(1), 2).map(({ content }) => content)).toEqual(['met as a', 'met as b']);
    expect(textOf(reply)).toBe('Met.');
  });

  it('that go wrong are told to the model, which goes on; what is not for it is told to nobody', async () => {
    const made = calls(['ask_guard', {}], ['break', {}], ['saw', {}], ['evaluate', {}], ['no_such_tool', {}]);
    const server = await bench([made, says('I see.')]);
    const reply = await server.chat('Go.', WORK);
    expect(textOf(reply)).toBe('I see.');
    const texts = tail(server.sent(1), 5).map(({ content }) => String(content));
    expect(texts[0]).toBe('The guard says no.');
    expect(texts[1]).not.toContain('hidden cause');
    expect(texts[2]).toContain('name');
    expect(texts[3]?.replace('evaluate', '')).toBe(texts[4]?.replace('no_such_tool', ''));
    const [step] = (await server.traceOf(reply)).steps;
    expect(step?.tool_results.map(({ is_error }) => is_error)).toEqual([true, true, true, true, true]);
  });

  it('whose arguments are no JSON are not run: the model is told, its history is valid, the trace keeps them', async () => {
    const broken = '{"name": "oak';
    const server = await bench([calls(['saw', broken], ['saw', '["oak"]']), says('Sorry.')]);
    const reply = await server.chat('Go.', WORK);
    const [asked, one, two] = tail(server.sent(1), 3);
    expect(asked?.tool_calls?.map((call) => call.function.arguments)).toEqual(['{}', '{}']);
    expect(one?.content).toContain('not valid JSON');
    expect(two?.content).toContain('not an array');
    const [step] = (await server.traceOf(reply)).steps;
    expect(step?.tool_results.map(({ raw_arguments }) => raw_arguments)).toEqual([broken, '["oak"]']);
    expect(await server.logOf(reply)).toEqual([]);
  });

  it('have the images of their results in one labelled user message after all tool messages', async () => {
    const server = await bench([calls(['paint', { name: 'door' }], ['paint', { name: 'wall' }]), says('Nice.')]);
    await server.chat('Go.', WORK);
    const [one, two, images] = tail(server.sent(1), 3);
    expect([one?.role, two?.role, images?.role]).toEqual(['tool', 'tool', 'user']);
    expect([one?.content, two?.content]).toEqual([
      expect.stringContaining('painted door'),
      expect.stringContaining('painted wall'),
    ]);
    const parts = images?.content as { type: string; text?: string; image_url?: { url: string } }[];
    expect(parts.flatMap(({ image_url }) => image_url?.url ?? [])).toEqual(
      Array(2).fill(`data:image/png;base64,${PIXEL}`),
    );
    for (const id of [one?.tool_call_id, two?.tool_call_id]) {
      expect(parts.some(({ text }) => text?.includes(String(id)))).toBe(true);
    }
  });

  it('have long results cut for the model, with a note, and whole in the trace', async () => {
    const server = await bench([calls(['read_manual', {}]), says('Long.')]);
    const reply = await server.chat('Go.', WORK);
    const shown = String(server.sent(1).at(-1)?.content);
    const [kept, note] = shown.split('\n');
    expect(kept).toBe('ä'.repeat(16_384));
    expect(note).toContain('32 KiB of 60000 bytes');
    const [step] = (await server.traceOf(reply)).steps;
    expect(step?.tool_results[0]?.content).toEqual([{ type: 'text', text: LONG_TEXT }]);
  });

  it('have their structured content in the trace', async () => {
    const server = await bench([calls(['measure', {}]), says('3 cm.')]);
    const reply = await server.chat('Go.', WORK);
    expect(server.sent(1).at(-1)?.content).toBe('{"width":3,"unit":"cm"}');
    const [step] = (await server.traceOf(reply)).steps;
    expect(step?.tool_results[0]?.structured_content).toEqual({ width: 3, unit: 'cm' });
  });

  it('are run where an index is missing, also as Gemini ends such a response', async () => {
    const tool_calls = [
      { id: 'a', type: 'function', function: { name: 'saw', arguments: '{"name":"oak"}' } },
      { id: 'b', type: 'function', function: { name: 'saw', arguments: '{"name":"elm"}' } },
    ];
    const choice = { index: null, delta: { tool_calls }, finish_reason: 'stop' };
    const server = await bench([stream({ choices: [choice] }), says('Done.')]);
    const reply = await server.chat('Go.', WORK);
    expect(await server.logOf(reply)).toEqual(['oak begun', 'oak sawn', 'elm begun', 'elm sawn']);
  });
});

describe('what a provider wants back', () => {
  it.each(['reasoning_content', 'reasoning'])('%s is streamed, kept, and sent back as it came', async (field) => {
    const thinks = [delta({ [field]: 'Let me ' }), delta({ [field]: 'measure.' })];
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'measure', arguments: '{}' } };
    const plays = [stream(...thinks, delta({ tool_calls: [call] }), delta({}, 'tool_calls')), says('3 cm.')];
    const server = await bench(plays);
    const reply = await streamed(server);
    expect(server.sent(1).find(({ role }) => role === 'assistant')).toMatchObject({ [field]: 'Let me measure.' });
    const deltas = framesOf(reply).flatMap((frame) =>
      frame === '[DONE]' ? [] : frame.choices.map((one) => one.delta),
    );
    expect(deltas.map((one) => Reflect.get(one, 'reasoning_content') ?? '').join('')).toBe('Let me measure.');
    expect((await server.traceOf(reply)).steps[0]?.message.reasoning).toBe('Let me measure.');
  });

  it('goes back with message and call: reasoning_details, extra_content, and whatever else it sent', async () => {
    const signature = { google: { thought_signature: 'c2ln' } };
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'measure', arguments: '{}' } };
    const details = [
      { type: 'reasoning.encrypted', id: 'one', data: 'AAA' },
      { type: 'reasoning.encrypted', id: 'two', data: 'BBB' },
    ];
    const first = stream(
      delta({ reasoning_details: [details[0]] }),
      delta({ reasoning_details: [details[1]], extra_content: signature }),
      delta({ tool_calls: [{ ...call, extra_content: signature }] }),
      delta({}, 'tool_calls'),
    );
    const server = await bench([first, says('3 cm.'), says('Still.')]);
    const reply = await server.chat('Go.', WORK);
    await server.chat('Sure?', { thread_id: svcOf(reply).session_id });
    for (const request of [1, 2]) {
      expect(server.sent(request).find(({ role }) => role === 'assistant')).toMatchObject({
        reasoning_details: details,
        extra_content: signature,
        tool_calls: [{ id: 'c1', extra_content: signature }],
      });
    }
  });

  it('goes back from a reply that was not streamed, detail by detail', async () => {
    const reasoning_details = [
      { type: 'reasoning.text', text: 'One.' },
      { type: 'reasoning.text', text: 'Two.' },
    ];
    const message = { role: 'assistant', content: 'Hm.', reasoning_details };
    const server = await bench([json(200, { choices: [{ index: 0, message, finish_reason: 'stop' }] }), says('Yes.')]);
    const reply = await server.chat('Go.', WORK);
    await server.chat('Sure?', { thread_id: svcOf(reply).session_id });
    expect(tail(server.sent(1), 2)[0]).toMatchObject({ content: 'Hm.', reasoning_details });
  });
});

describe('a response that is no plain answer', () => {
  const refuses = stream(delta({ refusal: 'I can' }), delta({ refusal: 'not.' }), delta({}, 'stop'));

  it('a refusal is passed through, plain and streamed, and kept', async () => {
    const server = await bench([refuses]);
    const plain = await server.chat('Go.', WORK);
    expect(completionOf(plain).choices[0]).toMatchObject({
      message: { content: '', refusal: 'I cannot.' },
      finish_reason: 'stop',
    });
    const reply = await streamed(server);
    const deltas = framesOf(reply).flatMap((frame) =>
      frame === '[DONE]' ? [] : frame.choices.map((one) => one.delta),
    );
    expect(deltas.map((one) => Reflect.get(one, 'refusal') ?? '').join('')).toBe('I cannot.');
    expect((await server.traceOf(reply)).steps[0]?.message.refusal).toBe('I cannot.');
  });

  it.each(['length', 'content_filter'])('finish_reason %s is passed through', async (reason) => {
    const server = await bench([stream(delta({ content: 'Half' }), delta({}, reason))]);
    const reply = await server.chat('Go.', WORK);
    expect(completionOf(reply).choices[0]).toMatchObject({ message: { content: 'Half' }, finish_reason: reason });
    const frames = framesOf(await streamed(server));
    expect(frames.flatMap((frame) => (frame === '[DONE]' ? [] : (frame.choices[0]?.finish_reason ?? [])))).toEqual([
      reason,
    ]);
    expect((await server.traceOf(reply)).steps[0]?.finish_reason).toBe(reason);
  });

  it('calls that were cut by length are told to be, and the turn goes on', async () => {
    const cut = { index: 0, id: 'c1', type: 'function', function: { name: 'saw', arguments: '{"na' } };
    const server = await bench([stream(delta({ tool_calls: [cut] }), delta({}, 'length')), says('Shorter.')]);
    const reply = await server.chat('Go.', WORK);
    expect(server.sent(1).at(-1)?.content).toContain('cut at its token limit');
    expect(completionOf(reply).choices[0].finish_reason).toBe('stop');
  });

  it('a transcript that is too long is context_length_exceeded, which no client tries again', async () => {
    const error = { message: 'Too many tokens', type: 'invalid_request_error', code: 'context_length_exceeded' };
    const server = await bench([says('Hi.'), json(400, { error })]);
    const { session_id } = svcOf(await server.chat('Go.', WORK));
    const reply = await server.chat('More.', { thread_id: session_id });
    expect(errorOf(reply)).toEqual([400, 'context_length_exceeded', null]);
    expect(server.gateway.requests).toHaveLength(2);
    expect((await server.get(`/v1/sessions/${session_id}`)).json).toMatchObject({ status: 'active' });
  });

  it('an answer that does not fit is asked for once more as the turn before it was, and no longer than its limit', async () => {
    const hangs: Play = () => {};
    const server = await bench([says('Three.'), hangs], { limits: { repairMs: 1_000 } });
    const reply = await server.chat('Go.', { scenario: 'form', scenario_args: {}, temperature: 0.5 });
    const finished = await server.post(`/v1/sessions/${svcOf(reply).session_id}/finish`);
    expect(finishedOf(finished)).toMatchObject({ answer: 'Three.', status: 'finished' });
    expect(server.gateway.requests[1]?.body).toMatchObject({ temperature: 0.5 });
    await server.gateway.clientClosed;
  });

  it('an answer that a failing model cannot repair is submitted as the text that it is', async () => {
    const server = await bench([says('Three.'), json(400, { error: { message: 'no' } })]);
    const reply = await server.chat('Go.', { scenario: 'form', scenario_args: {} });
    const finished = await server.post(`/v1/sessions/${svcOf(reply).session_id}/finish`);
    expect(finishedOf(finished)).toMatchObject({ answer: 'Three.', status: 'finished' });
  });
});

const resets: Play = (response) => response.socket?.resetAndDestroy();
const cuts =
  (...chunks: readonly object[]): Play =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frames(...chunks), () => response.socket?.destroy());
  };
const hangs: Play = () => {};

describe('a gateway that fails for a moment', () => {
  const busy = json(429, { error: { message: 'Slow down' } }, { 'retry-after': '7' });

  it.each<[string, Play]>([
    ['429 with retry-after', busy],
    ['503 with a web page', page(503)],
    ['a reset connection', resets],
    ['a stream that is cut before the first token', cuts(delta({ role: 'assistant', content: '' }))],
    ['an empty stream', rawStream('')],
    ['an error in the stream', rawStream(frames({ error: { message: 'overloaded', code: 503 } }))],
    ['200 with an error as its body', json(200, { error: { message: 'overloaded', code: 503 } })],
  ])('is tried again, and nothing is done twice: %s', async (_name, failure) => {
    const server = await bench([calls(['saw', { name: 'oak' }]), failure, failure, says('Done.')]);
    const reply = await server.chat('Go.', WORK);
    expect(textOf(reply)).toBe('Done.');
    expect(server.sent(3)).toEqual(server.sent(1));
    const { steps, usage } = await server.traceOf(reply);
    expect(steps.map(({ retries }) => retries)).toEqual([0, 2]);
    expect(usage.model_calls).toBe(2);
    expect(await server.logOf(reply)).toEqual(['oak begun', 'oak sawn']);
  });

  it('is waited for as long as it asks', async () => {
    const waits: number[] = [];
    const gateway = await startGateway(busy, says('Done.'));
    const timing = { now: Date.now, random: () => 0, sleep: async (ms: number) => void waits.push(ms) };
    const server = await bench([], { models: createModels({ gatewayUrl: gateway.url, timing }) });
    expect(textOf(await server.chat('Go.', WORK))).toBe('Done.');
    expect(waits).toEqual([7_000]);
  });

  it('is given up after three tries; the session can go on, with what was done kept', async () => {
    const server = await bench([says('Ready.'), calls(['saw', { name: 'oak' }]), busy, busy, busy, says('Done.')]);
    const first = await server.chat('Hello.', WORK);
    const { session_id: thread_id } = svcOf(first);
    expect(errorOf(await server.chat('Saw.', { thread_id }))).toEqual([502, 'model_failed', null]);
    expect(textOf(await server.chat('Saw.', { thread_id }))).toBe('Done.');
    const roles = server.sent(5).map(({ role }) => role);
    expect(roles.slice(-5)).toEqual(['user', 'assistant', 'user', 'assistant', 'tool']);
    expect(await server.logOf(first)).toEqual(['oak begun', 'oak sawn']);
  });
});

describe('a gateway that fails for good', () => {
  it.each<[string, Play, number, string, RegExp]>([
    ['an error in OpenAI’s form', json(400, { error: { message: 'Bad tools' } }), 502, 'model_failed', /Bad tools/],
    [
      'Gemini’s list',
      json(400, [{ error: { code: 400, message: 'Unknown name' } }]),
      502,
      'model_failed',
      /Unknown name/,
    ],
    ['FastAPI’s detail', json(422, { detail: 'No field n' }), 502, 'model_failed', /No field n/],
    ['a wrong key', json(401, { error: { message: 'Wrong key sk-abcdef123' } }), 502, 'model_failed', /401.*key/],
    ['a web page with an error', page(403), 502, 'model_failed', /answered 403: a web page, .*403 from a proxy/],
    ['a web page with 200', page(200), 502, 'model_failed', /has to be the base URL/],
    ['200 with an error as its body', json(200, { error: { message: 'No credit' } }), 502, 'model_failed', /No credit/],
    ['200 with Gemini’s list', json(200, [{ error: { message: 'No quota' } }]), 502, 'model_failed', /No quota/],
    [
      '200 with an error that is not declared',
      plain('{"error":{"message":"No luck"}}'),
      502,
      'model_failed',
      /No luck/,
    ],
    ['vLLM’s error in a stream', stream({ object: 'error', message: 'CUDA died' }), 502, 'model_failed', /CUDA died/],
  ])('is told at once: %s', async (_name, play, status, code, message) => {
    const server = await bench([play]);
    const plainReply = await server.chat('Go.', WORK);
    expect(errorOf(plainReply)).toEqual([status, code, null]);
    expect(plainReply.text).toMatch(message);
    expect(plainReply.text).not.toMatch(/sk-abc|<html/);
    expect(server.gateway.requests).toHaveLength(1);
    // Nothing was sent yet: a stream that fails is a JSON error too.
    expect(errorOf(await streamed(server))).toEqual([status, code, null]);
  });

  it('is given up where it falls silent, before and after its headers', async () => {
    const silent: Play = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': hello\n\n');
    };
    const gateway = await startGateway(hangs, silent);
    const server = await bench([], { models: createModels({ gatewayUrl: gateway.url, idleTimeoutMs: 1_000 }) });
    expect(errorOf(await server.chat('Go.', WORK))).toEqual([504, 'model_timeout', null]);
    expect(errorOf(await server.chat('Go.', WORK))).toEqual([504, 'model_timeout', null]);
    expect(gateway.requests).toHaveLength(2);
    await gateway.clientClosed;
  });

  it.each<[string, Play]>([
    ['is cut', cuts(delta({ content: 'Half' }))],
    ['ends without a finish_reason', stream(delta({ content: 'Half' }))],
    ['breaks within a frame', rawStream(frames(delta({ content: 'Half' })), 'data: {"choi')],
  ])('after its first token is not tried again: a stream that %s ends in an error frame', async (_name, play) => {
    const server = await bench([says('Ready.'), play, says('Whole.')]);
    const first = await server.chat('Hello.', WORK);
    const { session_id: thread_id } = svcOf(first);
    const reply = await streamed(server, { thread_id });
    expect(reply.status).toBe(200);
    expect(streamedText(reply)).toBe('Half');
    expect(lastFrame(reply)).toMatchObject({ error: { code: 'model_failed' } });
    expect(reply.text).not.toContain('[DONE]');
    expect(server.gateway.requests).toHaveLength(2);
    expect((await server.traceOf(first)).steps).toHaveLength(1);
    const again = await streamed(server, { thread_id });
    expect(streamedText(again)).toBe('Whole.');
    expect(server.sent(2).filter(({ content }) => content === 'Go.')).toHaveLength(1);
  });

  it('after it has said that it is done has answered', async () => {
    const server = await bench([cuts(delta({ content: 'Whole.' }), delta({}, 'stop'))]);
    expect(textOf(await server.chat('Go.', WORK))).toBe('Whole.');
  });
});

describe('a stream of the gateway', () => {
  it('comes through with characters, frames and line breaks split between reads', async () => {
    const text = 'Grüße, 世界! 🎻 \u2028 done';
    const bytes = Buffer.from(
      `: hello\r\n\r\n${frames(...[...text].map((content) => delta({ content })), delta({}, 'stop')).replaceAll('\n', '\r\n')}`,
    );
    const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) => bytes.subarray(at * 7, at * 7 + 7));
    const server = await bench([rawStream(...pieces)]);
    expect(streamedText(await streamed(server))).toBe(text);
  });

  it('comes through delta by delta, before it has ended', async () => {
    let end = () => {};
    const waiting: Play = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(frames(delta({ content: 'One' })));
      end = () => void response.end(frames(delta({ content: ' two' }), delta({}, 'stop')));
    };
    const server = await bench([waiting]);
    const reply = openChat(server, { stream: true, ...WORK });
    await reply.until('One');
    end();
    expect(await reply.whole).toContain(' two');
  });

  it('may be one JSON object, declared as such or not', async () => {
    const message = { role: 'assistant', content: 'Whole.' };
    const body = { choices: [{ index: 0, message, finish_reason: 'stop' }], usage: USAGE };
    const server = await bench([json(200, body), plain(JSON.stringify(body, null, 2))]);
    for (const _ of [1, 2]) {
      const reply = await streamed(server);
      expect(streamedText(reply)).toBe('Whole.');
      expect(lastFrame(reply)).toBe('[DONE]');
    }
  });
});

describe('limits and cancellation', () => {
  it('a tool that takes too long is stopped, and the model is told', async () => {
    const server = await bench([calls(['hang', {}]), says('Enough.')], { limits: { toolCallMs: 100 } });
    const reply = await server.chat('Go.', WORK);
    expect(server.sent(1).at(-1)?.content).toContain('did not answer within 100 ms');
    expect(await server.logOf(reply)).toEqual(['hanging', 'stopped']);
  });

  it('a turn that takes too long is turn_timeout; its steps are kept and the same words go on', async () => {
    const turnLimits = { limitMs: { plain: 2_000, streamed: 2_000 } };
    const server = await bench([says('Ready.'), calls(['saw', { name: 'oak' }]), hangs, says('Done.')], { turnLimits });
    const first = await server.chat('Hello.', WORK);
    const { session_id: thread_id } = svcOf(first);
    expect(errorOf(await server.chat('Saw.', { thread_id }))).toEqual([504, 'turn_timeout', null]);
    await server.gateway.clientClosed;
    expect(textOf(await server.chat('Saw.', { thread_id }))).toBe('Done.');
    expect(await server.logOf(first)).toEqual(['oak begun', 'oak sawn']);
  });

  it('a client that leaves stops the running tool, and the session is free', async () => {
    const server = await bench([says('Ready.'), calls(['hang', {}]), says('Back.')]);
    const first = await server.chat('Hello.', WORK);
    const { session_id: thread_id } = svcOf(first);
    const leaving = openChat(server, { stream: true, thread_id });
    await leaving.until('data:');
    leaving.leave();
    const back = await untilFree(() => server.chat('Are you there?', { thread_id }));
    expect(textOf(back)).toBe('Back.');
    expect(await server.logOf(first)).toEqual(['hanging', 'stopped']);
    // Every call is answered in what the model is sent.
    const asked = server.sent(2);
    const ids = asked.flatMap(({ tool_calls }) => tool_calls?.map(({ id }) => id) ?? []);
    expect(asked.flatMap(({ tool_call_id }) => tool_call_id ?? [])).toEqual(ids);
  });

  it('a client that leaves closes the request of the gateway', async () => {
    const server = await bench([says('Ready.'), hangs]);
    const { session_id: thread_id } = svcOf(await server.chat('Hello.', WORK));
    const leaving = openChat(server, { thread_id });
    await until(() => server.gateway.requests.length === 2);
    leaving.leave();
    await server.gateway.clientClosed;
  });
});

describe('tokens', () => {
  const usage = (prompt_tokens: number, cached_tokens: number, reasoning_tokens: number) => ({
    prompt_tokens,
    completion_tokens: 10,
    total_tokens: prompt_tokens + 10,
    prompt_tokens_details: { cached_tokens },
    completion_tokens_details: { reasoning_tokens },
  });
  const spends = (chunk: object, spent: object): Play => stream(chunk, { ...delta({}), choices: [], usage: spent });
  const call = { index: 0, id: 'c1', type: 'function', function: { name: 'measure', arguments: '{}' } };

  it('are summed over the model calls of the turn, cached and reasoning ones too, plain and streamed', async () => {
    const plays = [
      spends(delta({ tool_calls: [call] }, 'tool_calls'), usage(100, 0, 4)),
      spends(delta({ content: '3 cm.' }, 'stop'), usage(130, 100, 2)),
    ];
    const summed = {
      prompt_tokens: 230,
      completion_tokens: 20,
      total_tokens: 250,
      prompt_tokens_details: { cached_tokens: 100 },
      completion_tokens_details: { reasoning_tokens: 6 },
    };
    const server = await bench([...plays, ...plays]);
    const reply = await server.chat('Go.', WORK);
    expect(completionOf(reply).usage).toEqual(summed);
    const last = framesOf(await streamed(server, { ...WORK, stream_options: { include_usage: true } })).at(-2);
    expect(last).toMatchObject({ choices: [], usage: summed });
    expect((await server.traceOf(reply)).usage).toMatchObject({
      model_calls: 2,
      tool_calls: 1,
      prompt_tokens: 230,
      total_tokens: 250,
      cached_tokens: 100,
      reasoning_tokens: 6,
      cost_usd: null,
    });
  });

  const ids = { prompt: [1, 2], completion: [3, 4] };
  const content = [{ token: 'H', logprob: -0.1 }];
  it.each<[string, Play, unknown]>([
    [
      'the response and its choice, as vLLM streams them',
      stream(
        { ...delta({ content: 'H' }), prompt_token_ids: ids.prompt },
        { choices: [{ index: 0, delta: { content: 'i' }, token_ids: [3], logprobs: { content } }] },
        { choices: [{ index: 0, delta: {}, token_ids: [4], finish_reason: 'stop' }] },
      ),
      { content, refusal: null },
    ],
    [
      'the choice',
      json(200, {
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'Hi' },
            prompt_token_ids: ids.prompt,
            token_ids: ids.completion,
            logprobs: { content },
            finish_reason: 'stop',
          },
        ],
      }),
      { content, refusal: null },
    ],
    [
      'the message',
      json(200, {
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: 'Hi',
              prompt_token_ids: ids.prompt,
              generation_token_ids: ids.completion,
              generation_log_probs: [-0.1, -0.2],
            },
            finish_reason: 'stop',
          },
        ],
      }),
      { content: [-0.1, -0.2], refusal: null },
    ],
  ])('have their ids and log probabilities in the trace, from %s', async (_name, play, logprobs) => {
    const server = await bench([play]);
    const reply = await server.chat('Go.', WORK);
    expect((await server.traceOf(reply)).steps[0]).toMatchObject({ token_ids: ids, logprobs });
    await server.chat('More.', { thread_id: svcOf(reply).session_id });
    expect(JSON.stringify(server.sent(1))).not.toContain('token_ids');
  });
});

describe('options of the gateway', () => {
  it('are forwarded as they are with every request of the turn, and nothing else of the caller is', async () => {
    const options = {
      temperature: 0.2,
      top_p: 0.9,
      max_tokens: 50,
      max_completion_tokens: 60,
      seed: 7,
      stop: ['END'],
      reasoning_effort: 'low',
      response_format: { type: 'json_object' },
      logprobs: true,
      return_token_ids: true,
      chat_template_kwargs: { enable_thinking: false },
      parallel_tool_calls: false,
    };
    const server = await bench([calls(['measure', {}]), says('3 cm.')]);
    await server.chat('Go.', { ...WORK, ...options, thread: 'x', max_steps: 5, metadata: { a: 'b' } });
    for (const { body } of server.gateway.requests) {
      expect(body).toMatchObject(options);
      expect(Object.keys(body).sort()).toEqual(
        [...Object.keys(options), 'messages', 'model', 'stream', 'stream_options', 'tools'].sort(),
      );
    }
  });
});

function page(status: number): Play {
  return (response) => {
    response.writeHead(status, { 'content-type': 'text/html' });
    response.end(`<html><head><title>${status} from a proxy</title></head><body>nginx</body></html>`);
  };
}

/** A body without a type that says what it is. */
function plain(body: string): Play {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.end(body);
  };
}

/** A turn that is read as it comes, and can be left. */
function openChat(server: TestServer, fields: object) {
  let text = '';
  let onText = () => {};
  const messages = [{ role: 'user', content: 'Go.' }];
  const headers = { 'content-type': 'application/json' };
  const request = openRequest(`${server.url}/v1/chat/completions`, { method: 'POST', headers, agent: false });
  const whole = new Promise<string>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response) => {
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
        onText();
      });
      response.on('error', reject);
      response.on('end', () => resolve(text));
    });
  });
  whole.catch(() => {}); // It is left on purpose.
  request.end(JSON.stringify({ messages, ...fields }));
  return {
    whole,
    until: (wanted: string) =>
      new Promise<void>((resolve) => {
        onText = () => {
          if (text.includes(wanted)) resolve();
        };
        onText();
      }),
    leave: () => request.destroy(),
  };
}

/** Asks again while the turn that was left is still being stopped. */
async function untilFree(ask: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    const reply = await ask();
    if (reply.status !== 409) return reply;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
