import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Svc } from '../../../src/contract/session.ts';
import { calls, delta, frames, json, type Play, rawStream, says, stream, USAGE } from '../../gateway.ts';
import type { Reply } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import { createStage } from './fixtures/stage.ts';
import { beginStream, endStream, holdRequest, openChat, turnClock } from './open-chat.ts';
import { completionOf, counting, errorOf, framesOf, serve, svcOf } from './server.ts';

const streamed = { stream: true, ...counting(1) };

/** The body of a reply, frame by frame, as it stands on the wire. */
function rawFramesOf(text: string): readonly string[] {
  expect(text.endsWith('\n\n')).toBe(true);
  return text.split('\n\n').slice(0, -1);
}

interface Chunk {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: number;
    readonly delta: Readonly<Record<string, string>>;
    readonly logprobs: null;
    readonly finish_reason: string | null;
  }[];
  readonly usage?: object | null;
  readonly svc: Partial<Svc> & { readonly event?: Readonly<Record<string, unknown>> };
}

/** The chunks of a stream that was ended well: what is no data line, and what follows `[DONE]`, fails. */
function chunksOf(reply: Reply): readonly Chunk[] {
  const all = rawFramesOf(reply.text).filter((frame) => frame !== ': keep-alive');
  expect(all.at(-1)).toBe('data: [DONE]');
  return all.slice(0, -1).map((frame) => {
    expect(frame).toMatch(/^data: \{[^\n]*\}$/);
    return JSON.parse(frame.slice('data: '.length));
  });
}

const textOf = (chunks: readonly Chunk[]) => chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');

/** A gateway's response that says something, and calls a tool where one is named. */
function speak(content: string, tool?: string): Play {
  const call = { index: 0, id: 'c0', type: 'function', function: { name: tool, arguments: '{}' } };
  const called = tool === undefined ? [] : [delta({ tool_calls: [call] })];
  return stream(
    delta({ role: 'assistant', content }),
    ...called,
    delta({}, tool === undefined ? 'stop' : 'tool_calls'),
  );
}

describe('a streamed turn', () => {
  it('is a role chunk, the deltas as the gateway sends them, one finish chunk, and [DONE]', async () => {
    const server = await serve({ plays: [says('One', ' two', ' three.')] });
    const reply = await server.chat('Go.', streamed);
    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
    const chunks = chunksOf(reply);
    expect(chunks.map(({ choices }) => choices)).toEqual(
      [
        [{ role: 'assistant', content: '' }, null],
        [{ content: 'One' }, null],
        [{ content: ' two' }, null],
        [{ content: ' three.' }, null],
        [{}, 'stop'],
      ].map(([given, finish_reason]) => [{ index: 0, delta: given, logprobs: null, finish_reason }]),
    );
    const heads = new Set(
      chunks.map(({ id, object, created, model }) => JSON.stringify({ id, object, created, model })),
    );
    expect([...heads].map((head) => JSON.parse(head))).toEqual([
      {
        id: expect.stringMatching(/^chatcmpl-/),
        object: 'chat.completion.chunk',
        created: expect.any(Number),
        model: 'test-model',
      },
    ]);
    expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true);
  });

  it('has svc.session_id on every chunk, and the full svc on the finish chunk', async () => {
    const server = await serve({ plays: [calls(['increment', { by: 1 }]), says('One', '.')] });
    const reply = await server.chat('Go.', { ...streamed, stream_options: { svc_events: true } });
    const chunks = chunksOf(reply);
    const id = String(reply.headers['x-svc-session-id']);
    const traceId = String(reply.headers['x-svc-trace-id']);
    expect(chunks.map(({ svc }) => svc.session_id)).toEqual(chunks.map(() => id));
    const full = {
      session_id: id,
      thread_id: id,
      conversation_id: id,
      trace_id: traceId,
      trace_url: `https://app.example/traces/${traceId}`,
      scenario: 'count_to',
      status: 'active',
      steps: 2,
    };
    expect(chunks.at(-1)?.svc).toEqual(full);
    for (const { svc } of chunks.slice(0, -1))
      expect(Object.keys(svc)).toEqual(svc.event ? ['session_id', 'event'] : ['session_id']);
    const next = svcOf(await server.chat('More.', { thread_id: id }));
    expect(next).toEqual({ ...full, steps: 3 });
  });

  it('with include_usage has usage: null on each chunk, and one usage chunk without choices and with the full svc', async () => {
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'increment', arguments: '{}' } };
    const uncounted = stream(delta({ tool_calls: [call] }), delta({}, 'tool_calls'));
    const server = await serve({ plays: [uncounted, says('One.')] });
    const reply = await server.chat('Go.', { ...streamed, stream_options: { include_usage: true } });
    const chunks = chunksOf(reply);
    const last = chunks.at(-1);
    expect(last?.choices).toEqual([]);
    // The first response of the gateway told none.
    expect(last?.usage).toEqual({
      ...USAGE,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    });
    expect(last?.svc).toEqual(chunks.at(-2)?.svc);
    expect(last?.svc).toMatchObject({ status: 'active', steps: 2 });
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
    expect(chunks.slice(0, -1).map(({ usage }) => usage)).toEqual(chunks.slice(1).map(() => null));
  });

  it.each<readonly [reason: string, what: string, plays: readonly Play[]]>([
    ['stop', 'an answer', [says('Done.')]],
    ['stop', 'an answer without text', [stream(delta({}, 'stop'))]],
    ['length', 'an answer that is cut', [stream(delta({ content: 'Cut' }), delta({}, 'length'))]],
    ['content_filter', 'one that is filtered', [stream(delta({ content: 'No' }), delta({}, 'content_filter'))]],
    ['length', 'max_steps', [calls(['increment', {}])]],
  ])('has exactly one chunk with a finish_reason, the last: %s of %s', async (reason, _what, plays) => {
    const server = await serve({ plays });
    const chunks = chunksOf(await server.chat('Go.', { ...streamed, max_steps: 2 }));
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    const reasons = chunks.flatMap(({ choices }) => choices.map(({ finish_reason }) => finish_reason));
    expect(reasons.filter((each) => each !== null)).toEqual([reason]);
    expect(reasons.at(-1)).toBe(reason);
  });

  it('with svc_events an early failure is still a JSON error', async () => {
    const server = await serve({ plays: [json(400, {})] });
    const reply = await server.chat('Go.', { ...streamed, stream_options: { svc_events: true } });
    expect(errorOf(reply)).toEqual([502, 'model_failed', null]);
  });

  it('says with svc_events what tools are called and what they answer, on chunks with an empty delta', async () => {
    const server = await serve({
      plays: [calls(['increment', { by: 2 }], ['increment', { by: 'x' }]), calls(['nope', '{']), says('Done.')],
    });
    const chunks = chunksOf(await server.chat('Go.', { ...streamed, stream_options: { svc_events: true } }));
    const events = chunks.filter(({ svc }) => svc.event !== undefined);
    for (const { choices } of events) {
      expect(choices).toEqual([{ index: 0, delta: {}, logprobs: null, finish_reason: null }]);
    }
    const id = expect.stringMatching(/^call_/);
    const ended = { duration_ms: expect.any(Number), id };
    expect(events.map(({ svc }) => svc.event)).toEqual([
      { type: 'tool_call', id, name: 'increment', arguments: { by: 2 } },
      { type: 'tool_result', name: 'increment', text: '2', is_error: false, ...ended },
      { type: 'tool_call', id, name: 'increment', arguments: { by: 'x' } },
      { type: 'tool_result', name: 'increment', text: expect.stringContaining('by'), is_error: true, ...ended },
      { type: 'tool_call', id, name: 'nope', arguments: {} },
      { type: 'tool_result', name: 'nope', text: expect.stringContaining('{'), is_error: true, ...ended },
    ]);
    const silent = await serve({ plays: [calls(['increment', { by: 2 }]), says('Done.')] });
    expect((await silent.chat('Go.', streamed)).text).not.toContain('"event"');
  });

  it.each<readonly [what: string, plays: readonly Play[]]>([
    [
      'several responses',
      [speak('First.', 'increment'), speak('', 'increment'), speak('Third.', 'increment'), says('La', 'st.')],
    ],
    ['an empty response, and a text', [speak('', 'increment'), says('Only.')]],
    ['a text, and an empty response', [speak('Only.', 'increment'), speak('')]],
    ['blanks', [speak(' ', 'increment'), says('\n', 'After.')]],
    ['nothing', [speak('')]],
    ['ends of lines and signs', [says('a\u2028b\u2029c\u0085d', '\r\n', '"\\', '\u{1f600}')]],
  ])('streams the text that the plain reply has: %s', async (_what, plays) => {
    const server = await serve({ plays: [...plays, ...plays] });
    const plain = completionOf(await server.chat('Go.', counting(1))).choices[0];
    const chunks = chunksOf(await server.chat('Go.', streamed));
    expect(textOf(chunks)).toBe(plain.message.content);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe(plain.finish_reason);
  });

  it('keeps each frame one line, for readers too that end a line at U+2028, U+2029 or U+0085', async () => {
    const server = await serve({ plays: [says('a\u2028b', '\u2029', '\u0085', '\r\n\n')] });
    const reply = await server.chat('Go.', streamed);
    expect(reply.text).not.toMatch(/[\u0085\u2028\u2029\r]/);
    expect(textOf(chunksOf(reply))).toBe('a\u2028b\u2029\u0085\r\n\n');
  });

  it('passes characters on whole that the gateway sends in pieces of their bytes', async () => {
    const bytes = Buffer.from(`${frames(delta({ content: 'grüße 😀' }), delta({}, 'stop'))}data: [DONE]\n\n`);
    const server = await serve({ plays: [rawStream(...Array.from(bytes, (byte) => Uint8Array.of(byte)))] });
    expect(textOf(chunksOf(await server.chat('Go.', streamed)))).toBe('grüße 😀');
  });

  it('sends each delta when it comes, not at the end', async () => {
    const held = holdRequest();
    const server = await serve({ plays: [held.play] });
    const chat = openChat(server.url, { messages: [{ role: 'user', content: 'Go.' }], ...streamed });
    const response = await held.asked;
    beginStream(response, 'First');
    await chat.heard('"content":"First"');
    expect(chat.text).not.toContain('Second');
    response.write(frames(delta({ content: 'Second' })));
    await chat.heard('"content":"Second"');
    endStream(response);
    await chat.ended;
    expect(chat.text.endsWith('data: [DONE]\n\n')).toBe(true);
  });
});

describe('headers are held', () => {
  it('until there is something to say, so that a failure before it is a JSON error with its status', async () => {
    const server = await serve({ plays: [json(400, { error: { message: 'No.' } })] });
    const reply = await server.chat('Go.', streamed);
    expect(errorOf(reply)).toEqual([502, 'model_failed', null]);
    expect(reply.headers['content-type']).toMatch(/json/);
  });

  it('also while the gateway is tried again', async () => {
    const server = await serve({ plays: [json(503, {}), json(429, {}), says('Done.')] });
    const chunks = chunksOf(await server.chat('Go.', streamed));
    expect(textOf(chunks)).toBe('Done.');
    expect(server.gateway.requests).toHaveLength(3);
  });

  it('until the first tool event, where the model says nothing before it calls', async () => {
    const stage = createStage();
    const held = stage.hold('tool');
    const server = await serve({
      environments: new Map([['stage', stage.target]]),
      plays: [calls(['wait', {}]), says('Done.')],
    });
    const body = { messages: [{ role: 'user', content: 'Go.' }], scenario: 'play', scenario_args: {}, stream: true };
    const chat = openChat(server.url, body);
    await held.reached;
    expect((await chat.begun).statusCode).toBe(200);
    await chat.heard('"role":"assistant"');
    held.open();
    await chat.ended;
    expect(chat.text).toContain('"content":"Done."');
  });

  it('no longer than the keep-alive time: then they go out with a comment', async () => {
    const held = holdRequest();
    const server = await serve({ plays: [held.play], turnLimits: { keepAliveMs: 20 } });
    const chat = openChat(server.url, { messages: [{ role: 'user', content: 'Go.' }], ...streamed });
    const { statusCode, headers } = await chat.begun;
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(headers['x-svc-session-id']).toMatch(/^sess_/);
    await chat.heard(': keep-alive\n\n: keep-alive\n\n');
    expect(chat.text).not.toContain('data:');
    await says('Done.')(await held.asked);
    await chat.ended;
    expect(chat.text).toMatch(/^(: keep-alive\n\n)+data: \{/);
    expect(chat.text.endsWith('data: [DONE]\n\n')).toBe(true);
  });
});

describe('comments', () => {
  it('go on through a tool call, and stop with the stream', async () => {
    const stage = createStage();
    const held = stage.hold('tool');
    const server = await serve({
      environments: new Map([['stage', stage.target]]),
      plays: [calls(['wait', {}]), says('Done.')],
      turnLimits: { keepAliveMs: 10 },
    });
    const body = { messages: [{ role: 'user', content: 'Go.' }], scenario: 'play', scenario_args: {}, stream: true };
    const chat = openChat(server.url, body);
    await held.reached;
    await chat.heard('"role":"assistant"');
    const begun = chat.text.length;
    while (!/(: keep-alive\n\n){2}/.test(chat.text.slice(begun)))
      await new Promise((resolve) => setTimeout(resolve, 5));
    held.open();
    await chat.ended;
    const sent = rawFramesOf(chat.text);
    expect(sent.at(-1)).toBe('data: [DONE]');
    expect(sent.every((frame) => frame === ': keep-alive' || frame.startsWith('data: '))).toBe(true);
  });
});

describe('a failure after the first byte', () => {
  it.each<readonly [what: string, play: Play, code: string]>([
    ['a stream that is cut', rawStream(frames(delta({ content: 'Half' }))), 'model_failed'],
    [
      'an error in the stream',
      rawStream(frames(delta({ content: 'Half' }), { error: { message: 'Oops.', code: 500 } })),
      'model_failed',
    ],
  ])('is an error frame, and nothing after it: %s', async (_what, play, code) => {
    const server = await serve({ plays: [play] });
    const reply = await server.chat('Go.', { ...streamed, stream_options: { include_usage: true } });
    expect(reply.status).toBe(200);
    const sent = framesOf(reply);
    expect(sent.at(-1)).toEqual({
      error: { message: expect.stringContaining('test-model'), type: 'upstream_error', param: null, code },
    });
    expect(reply.text).toContain('"content":"Half"');
    expect(reply.text).not.toContain('[DONE]');
    expect(reply.text).not.toMatch(/"finish_reason":"/);
    expect(server.gateway.requests).toHaveLength(1);
  });

  it('after a comment alone is one too', async () => {
    const held = holdRequest();
    const server = await serve({ plays: [held.play], turnLimits: { keepAliveMs: 10 } });
    const chat = openChat(server.url, { messages: [{ role: 'user', content: 'Go.' }], ...streamed });
    await chat.heard(': keep-alive');
    await json(400, { error: { message: 'No.' } })(await held.asked);
    await chat.ended;
    expect(chat.text).toMatch(/(: keep-alive\n\n)+data: \{"error":\{.*"code":"model_failed"\}\}\n\n$/);
  });

  it('is one too when the turn takes too long', async () => {
    const clock = turnClock();
    const held = holdRequest();
    const server = await serve({ plays: [held.play], turnLimits: { limitMs: clock.limitMs } });
    const chat = openChat(server.url, { messages: [{ role: 'user', content: 'Go.' }], ...streamed });
    beginStream(await held.asked, 'Half');
    await chat.heard('"content":"Half"');
    clock.end();
    await chat.ended;
    expect(chat.text).toMatch(/"content":"Half".*data: \{"error":\{.*"code":"turn_timeout"\}\}\n\n$/s);
    expect(chat.text).not.toContain('[DONE]');
  });

  it('of a tool call leaves no frame behind it either', async () => {
    const server = await serve({ plays: [calls(['increment', {}]), json(400, { error: { message: 'No.' } })] });
    const sent = framesOf(await server.chat('Go.', streamed));
    expect(sent.map((frame) => (frame === '[DONE]' ? frame : Object.keys(frame)[0]))).toEqual(['id', 'error']);
  });
});

describe('a reader that is slow', () => {
  it('gets all of it', async () => {
    const pieces = Array.from({ length: 200 }, (_, index) => `${index} ${'x'.repeat(4_000)}`);
    const server = await serve({ plays: [says(...pieces)] });
    const chat = openChat(server.url, { messages: [{ role: 'user', content: 'Go.' }], ...streamed }, { isRead: false });
    const response = await chat.begun;
    let text = '';
    for await (const piece of response) {
      text += String(piece);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(textOf(chunksOf({ status: 200, headers: {}, text, json: undefined }))).toBe(pieces.join(''));
  });

  it('that reads nothing at all ends its turn: the gateway is not read for nobody', async () => {
    const held = holdRequest();
    const server = await serve({ plays: [held.play] });
    const chat = openChat(server.url, { messages: [{ role: 'user', content: 'Go.' }], ...streamed }, { isRead: false });
    const response = await held.asked;
    beginStream(response);
    const flood = frames(delta({ content: 'x'.repeat(256 * 1024) }));
    let isDropped = false;
    void held.dropped.then(() => {
      isDropped = true;
    });
    // More than sockets hold and may wait.
    for (let count = 0; count < 10_000 && !isDropped; count += 1) {
      response.write(flood);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(isDropped).toBe(true);
    const id = String((await chat.begun).headers['x-svc-session-id']);
    await until(async () => !(await server.get(`/v1/sessions/${id}`)).text.includes('"active"'));
    chat.leave();
  });

  it('has its connection closed after ten seconds, as if it had gone away: no time ran out', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const held = holdRequest();
    const server = await serve({ plays: [held.play] });
    const chat = openChat(server.url, { messages: [{ role: 'user', content: 'Go.' }], ...streamed }, { isRead: false });
    const response = await held.asked;
    beginStream(response);
    const flood = frames(delta({ content: 'x'.repeat(256 * 1024) }));
    let isDropped = false;
    void held.dropped.then(() => {
      isDropped = true;
    });
    // More than sockets hold and may wait, less than the gateway may answer.
    for (let count = 0; count < 120; count += 1) response.write(flood);
    await until(() => {
      vi.advanceTimersByTime(10_001);
      if (!isDropped) response.write(frames(delta({ content: 'x' })));
      return isDropped;
    });
    const { headers } = await chat.begun;
    const id = String(headers['x-svc-session-id']);
    await expect.poll(async () => (await server.get(`/v1/sessions/${id}`)).text).not.toContain('"active"');
    const trace = await server.store.trace(String(headers['x-svc-trace-id']));
    expect([trace?.status, trace?.error?.message]).toEqual(['failed', expect.stringContaining('went away')]);
    chat.leave();
  });
});
