import { describe, expect, it } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { calls, delta, fakeTiming, frames, json, type Play, rawStream, says, stream, USAGE } from '../../gateway.ts';
import type { Reply } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import { createStage } from './fixtures/stage.ts';
import { holdRequest, openChat, turnClock } from './open-chat.ts';
import { completionOf, counting, errorOf, serve, svcOf, type TestServer, untilFree } from './server.ts';

const FAIL: Play = json(400, { error: { message: 'No.' } });
const playing = { scenario: 'play', scenario_args: {} };

interface Sent {
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly id: string }[];
}

/** What the gateway was sent with its last request, as roles and texts. */
function lastSent(server: TestServer): readonly (readonly [role: string, content: string | null])[] {
  const messages = server.gateway.requests.at(-1)?.body.messages as readonly Sent[];
  return messages.map(({ role, content, tool_calls }) => [role, tool_calls === undefined ? content : 'calls']);
}

/** A session on the stage whose first turn was answered with "Ready.". */
async function serveStage(...plays: readonly Play[]) {
  const stage = createStage();
  const server = await serve({
    environments: new Map([['stage', stage.target]]),
    plays: [says('Ready.'), ...plays],
  });
  const { session_id: thread_id, trace_id } = svcOf(await server.chat('Go.', playing));
  const send = (messages: readonly (readonly [role: string, content: string])[], fields: object = {}) =>
    server.post('/v1/chat/completions', {
      messages: messages.map(([role, content]) => ({ role, content })),
      thread_id,
      ...fields,
    });
  return { stage, server, thread_id, trace_id, send };
}

const OPENING = [
  ['user', 'Play.'],
  ['user', 'Go.'],
  ['assistant', 'Ready.'],
] as const;

const textOf = (reply: Reply) => completionOf(reply).choices[0].message.content;
const finishReasonOf = (reply: Reply) => completionOf(reply).choices[0].finish_reason;

describe('a follow-up', () => {
  it('takes the user messages after the last assistant message: clients send their history again', async () => {
    const { server, send } = await serveStage(says('Two.'), says('Three.'));
    await send([...OPENING, ['user', 'One.'], ['user', 'And one.']]);
    const opened = [...OPENING, ['user', 'One.'], ['user', 'And one.']];
    expect(lastSent(server)).toEqual(opened);
    await send([
      ['user', 'Another past.'],
      ['assistant', 'Never said.'],
      ['tool', 'Dropped.'],
      ['user', 'Next.'],
    ]);
    expect(lastSent(server)).toEqual([...opened, ['assistant', 'Two.'], ['user', 'Next.']]);
  });

  it('takes every user message where there is no assistant message', async () => {
    const { server, send } = await serveStage();
    await send([
      ['user', 'One.'],
      ['system', 'Not taken.'],
      ['user', 'Two.'],
    ]);
    expect(lastSent(server)).toEqual([...OPENING, ['user', 'One.'], ['user', 'Two.']]);
  });

  it('takes text and image parts', async () => {
    const { server, thread_id } = await serveStage();
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    const content = [
      { type: 'text', text: 'Look.' },
      { type: 'image_url', image_url: { url } },
    ];
    const reply = await server.post('/v1/chat/completions', { messages: [{ role: 'user', content }], thread_id });
    expect(reply.status).toBe(200);
    const sent = server.gateway.requests.at(-1)?.body.messages as { content: unknown }[];
    expect(sent.at(-1)?.content).toEqual(content);
  });

  it('is found by the header, by thread_id and by conversation_id, also all together', async () => {
    const { server, thread_id } = await serveStage();
    const messages = [{ role: 'user', content: 'More.' }];
    const header = { 'X-SVC-Session-Id': thread_id };
    for (const [fields, headers] of [
      [{}, header],
      [{ thread_id }, {}],
      [{ conversation_id: thread_id }, {}],
      [{ thread_id, conversation_id: thread_id }, header],
    ] as const) {
      const reply = await server.post('/v1/chat/completions', { messages, ...fields }, headers);
      expect(svcOf(reply).session_id).toBe(thread_id);
    }
    expect(server.gateway.requests).toHaveLength(5);
  });
});

describe('a follow-up that failed', () => {
  it('without a completed step is dropped with its messages: others take its place', async () => {
    const { server, send } = await serveStage(FAIL, says('Two.'));
    expect(errorOf(await send([['user', 'Lost.']]))).toEqual([502, 'model_failed', null]);
    expect(svcOf(await send([['user', 'Next.']]))).toMatchObject({ status: 'active', steps: 2 });
    expect(lastSent(server)).toEqual([...OPENING, ['user', 'Next.']]);
  });

  it('without a completed step and sent again is added once', async () => {
    const { server, send } = await serveStage(FAIL, says('Two.'));
    await send([['user', 'Again.']]);
    expect(textOf(await send([['user', 'Again.']]))).toBe('Two.');
    expect(lastSent(server)).toEqual([...OPENING, ['user', 'Again.']]);
  });

  it('keeps its completed steps; the same messages sent again resume it', async () => {
    const { stage, server, send, trace_id } = await serveStage(calls(['note', { text: 'a' }]), FAIL, says('Noted.'));
    expect(errorOf(await send([['user', 'Note.']]))).toEqual([502, 'model_failed', null]);
    const resumed = await send([...OPENING, ['user', 'Note.']]);
    expect(textOf(resumed)).toBe('Noted.');
    expect(svcOf(resumed).steps).toBe(3);
    expect(lastSent(server)).toEqual([...OPENING, ['user', 'Note.'], ['assistant', 'calls'], ['tool', 'noted 1']]);
    expect(stage.notes).toEqual(['a']);
    const trace = await server.store.trace(trace_id);
    expect(trace?.turns.map(({ status, steps }) => [status, steps])).toEqual([
      ['answered', [1]],
      ['failed', [2]],
      ['answered', [3]],
    ]);
  });

  it('keeps its completed steps; other messages follow them', async () => {
    const { server, send } = await serveStage(calls(['note', { text: 'a' }]), FAIL, says('Two.'));
    await send([['user', 'Note.']]);
    await send([['user', 'Never mind.']]);
    expect(lastSent(server)).toEqual([
      ...OPENING,
      ['user', 'Note.'],
      ['assistant', 'calls'],
      ['tool', 'noted 1'],
      ['user', 'Never mind.'],
    ]);
  });

  it('is resumed by the same messages with more behind them, which are added alone', async () => {
    const { server, send } = await serveStage(calls(['note', { text: 'a' }]), FAIL, says('Two.'));
    await send([['user', 'Note.']]);
    await send([...OPENING, ['user', 'Note.'], ['user', 'Still there?']]);
    expect(lastSent(server).slice(OPENING.length)).toEqual([
      ['user', 'Note.'],
      ['assistant', 'calls'],
      ['tool', 'noted 1'],
      ['user', 'Still there?'],
    ]);
  });

  it('can be resumed as often as it fails, also after another turn that was dropped', async () => {
    const { server, send } = await serveStage(calls(['note', { text: 'a' }]), FAIL, FAIL, FAIL, says('Two.'));
    for (const message of ['Note.', 'Note.', 'Other.']) expect((await send([['user', message]])).status).toBe(502);
    expect(textOf(await send([['user', 'Note.']]))).toBe('Two.');
    expect(lastSent(server)).toEqual([...OPENING, ['user', 'Note.'], ['assistant', 'calls'], ['tool', 'noted 1']]);
  });

  it('is over once it was answered: the same messages are new ones then', async () => {
    const { server, send } = await serveStage(calls(['note', {}]), FAIL, says('Two.'), says('Three.'));
    await send([['user', 'Note.']]);
    await send([['user', 'Note.']]);
    expect(textOf(await send([['user', 'Note.']]))).toBe('Three.');
    expect(lastSent(server).slice(-2)).toEqual([
      ['assistant', 'Two.'],
      ['user', 'Note.'],
    ]);
  });

  it('that was aborted inside a tool call closes the open calls with an error result, and goes on from there', async () => {
    const { stage, server, thread_id, send } = await serveStage(
      calls(['wait', {}], ['note', { text: 'b' }]),
      says('Two.'),
    );
    const held = stage.hold('tool');
    const chat = openChat(server.url, { messages: [{ role: 'user', content: 'Wait.' }], thread_id });
    await held.reached;
    chat.leave();
    await held.aborted;
    const next = await untilFree(() => send([['user', 'Wait.']]));
    expect(textOf(next)).toBe('Two.');
    expect(lastSent(server).slice(OPENING.length)).toEqual([
      ['user', 'Wait.'],
      ['assistant', 'calls'],
      ['tool', expect.stringContaining('stopped')],
      ['tool', expect.stringContaining('not run')],
    ]);
    expect(stage.notes).toEqual([]);
  });
});

describe('a first turn that fails', () => {
  it('closes its session as failed, even with completed steps, and its environment', async () => {
    const stage = createStage();
    const server = await serve({
      environments: new Map([['stage', stage.target]]),
      plays: [calls(['note', { text: 'a' }]), FAIL],
    });
    const failed = await server.chat('Go.', playing);
    expect(errorOf(failed)).toEqual([502, 'model_failed', null]);
    const id = String(failed.headers['x-svc-session-id']);
    expect((await server.get(`/v1/sessions/${id}`)).json).toMatchObject({ status: 'failed', turns: 1, steps: 1 });
    expect(errorOf(await server.chat('Go.', { thread_id: id }))).toEqual([409, 'session_finished', null]);
    await until(() => stage.open === 0);
    expect(await server.store.trace(String(failed.headers['x-svc-trace-id']))).toMatchObject({
      status: 'failed',
      stop_reason: 'error',
      error: { boundary: 'model', code: 'model_failed', message: expect.stringContaining('No.') },
      reward: null,
    });
  });
});

describe('max_steps', () => {
  it('bounds each turn: the calls of the last response are run and answered, and the turn ends with "length"', async () => {
    const { stage, server, send } = await serveStage();
    const two = [calls(['note', { text: '1' }]), calls(['note', { text: '2' }], ['note', { text: '3' }])];
    const bounded = await serve({
      environments: new Map([['stage', stage.target]]),
      plays: [...two, calls(['note', { text: '4' }]), says('Done.')],
    });
    const first = await bounded.chat('Go.', { ...playing, max_steps: 2 });
    expect(finishReasonOf(first)).toBe('length');
    expect(svcOf(first)).toMatchObject({ status: 'active', steps: 2 });
    expect(stage.notes).toEqual(['1', '2', '3']);
    const next = await bounded.chat('Go on.', { thread_id: svcOf(first).session_id });
    expect([finishReasonOf(next), textOf(next), svcOf(next).steps]).toEqual(['stop', 'Done.', 4]);
    expect(
      lastSent(bounded)
        .map(([role]) => role)
        .slice(2, 7),
    ).toEqual(['assistant', 'tool', 'assistant', 'tool', 'tool']);
    expect((await send([['user', 'Unbounded here.']])).status).toBe(200);
    expect(server.gateway.requests).toHaveLength(2);
  });

  it("of a session that names none is the server's", async () => {
    const server = await serve({ plays: [calls(['increment', {}])], maxSteps: 3 });
    const reply = await server.chat('Go.', counting(3));
    expect([finishReasonOf(reply), server.gateway.requests.length]).toEqual(['length', 3]);
  });
});

describe('the reply', () => {
  it.each(['length', 'content_filter', 'stop'])("passes the gateway's own %s on", async (reason) => {
    const server = await serve({ plays: [stream(delta({ content: 'So far.' }), delta({}, reason))] });
    const reply = await server.chat('Go.', counting(1));
    expect([finishReasonOf(reply), textOf(reply)]).toEqual([reason, 'So far.']);
  });

  it('is an OpenAI chat.completion, whatever the gateway calls its model', async () => {
    const server = await serve();
    const reply = await server.chat('Go.', { ...counting(1), model: 'gpt-small' });
    expect(reply.json).toEqual({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'gpt-small',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Done.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: expect.any(Object),
      svc: expect.any(Object),
    });
    expect(Math.abs(completionOf(reply).created - Date.now() / 1_000)).toBeLessThan(60);
    expect(server.gateway.requests[0]?.body.model).toBe('gpt-small');
  });

  it('has all text of the turn, joined by a blank line; the answer that is submitted is the last', async () => {
    const speak = (content: string): Play =>
      stream(
        delta({ content }),
        delta({
          tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'increment', arguments: '{}' } }],
        }),
        delta({}, 'tool_calls'),
      );
    const server = await serve({ plays: [speak('First.'), calls(['increment', {}]), speak('Third.'), says('Last.')] });
    const reply = await server.chat('Go.', counting(3));
    expect(textOf(reply)).toBe('First.\n\nThird.\n\nLast.');
    const finished = await server.post(`/v1/sessions/${svcOf(reply).session_id}/finish`);
    expect(finished.json).toMatchObject({ answer: 'Last.', reward: 1 });
  });

  it("passes a model's refusal on", async () => {
    const server = await serve({ plays: [stream(delta({ refusal: 'I will not.' }), delta({}, 'stop'))] });
    const reply = await server.chat('Go.', counting(1));
    expect(completionOf(reply).choices[0].message).toEqual({ role: 'assistant', content: '', refusal: 'I will not.' });
  });

  it('sums the usage of the turn, cached and reasoning tokens among it, and of this turn alone', async () => {
    const used = (usage: object, ...chunks: object[]): Play => stream(...chunks, { ...delta({}), choices: [], usage });
    const details = { prompt_tokens_details: { cached_tokens: 4 }, completion_tokens_details: { reasoning_tokens: 2 } };
    const call = { index: 0, id: 'c', type: 'function', function: { name: 'increment', arguments: '{}' } };
    const server = await serve({
      plays: [
        used({ ...USAGE, ...details }, delta({ tool_calls: [call] }), delta({}, 'tool_calls')),
        used({ ...USAGE, ...details }, delta({ content: 'One.' }), delta({}, 'stop')),
        says('Two.'),
      ],
    });
    const first = await server.chat('Go.', counting(1));
    expect(completionOf(first).usage).toEqual({
      prompt_tokens: 20,
      completion_tokens: 10,
      total_tokens: 30,
      prompt_tokens_details: { cached_tokens: 8 },
      completion_tokens_details: { reasoning_tokens: 4 },
    });
    const next = await server.chat('More.', { thread_id: svcOf(first).session_id });
    expect(completionOf(next).usage).toMatchObject(USAGE);
    expect((await server.store.trace(svcOf(first).trace_id))?.usage).toMatchObject({
      model_calls: 3,
      total_tokens: 45,
      cached_tokens: 8,
      reasoning_tokens: 4,
    });
  });
});

describe('what is sent to the gateway', () => {
  it('has the sampling fields of the turn as they are, and no field of ours or of the client', async () => {
    const server = await serve();
    const sampling = {
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 50,
      max_completion_tokens: 60,
      seed: 7,
      stop: ['END'],
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      logit_bias: { 5: 1 },
      logprobs: true,
      top_logprobs: 2,
      response_format: { type: 'json_object' },
      reasoning_effort: 'low',
      parallel_tool_calls: false,
    };
    const ours = { thread_id: null, max_steps: 5, n: 1, tools: [], store: true, metadata: { a: 'b' }, unknown: 1 };
    const first = await server.chat('Go.', { ...counting(1), ...sampling, ...ours });
    const { messages, tools, ...sent } = server.gateway.requests[0]?.body ?? {};
    expect(sent).toEqual({
      ...sampling,
      model: 'test-model',
      stream: true,
      stream_options: { include_usage: true },
    });
    expect([messages, tools]).toEqual([expect.any(Array), expect.any(Array)]);
    await server.chat('More.', { thread_id: svcOf(first).session_id, temperature: 1 });
    const { messages: _messages, tools: _tools, ...next } = server.gateway.requests[1]?.body ?? {};
    expect(next).toEqual({
      temperature: 1,
      model: 'test-model',
      stream: true,
      stream_options: { include_usage: true },
    });
    expect((await server.store.trace(svcOf(first).trace_id))?.sampling).toEqual(sampling);
  });

  it('never has the tools of the harness, and a model that calls one by name is told that it is unknown', async () => {
    const server = await serve({
      plays: [calls(['evaluate', { name: 'count_to', arguments: { answer: 'x' } }], ['setup', {}]), says('Done.')],
    });
    const reply = await server.chat('Go.', counting(1));
    expect(reply.status).toBe(200);
    const tools = server.gateway.requests[0]?.body.tools as { function: { name: string } }[];
    expect(tools.map((tool) => tool.function.name)).toEqual(['increment', 'read', 'slow_increment']);
    const results = ((server.gateway.requests.at(-1)?.body.messages as Sent[] | undefined) ?? []).filter(
      ({ role }) => role === 'tool',
    );
    expect(results).toHaveLength(2);
    for (const { content } of results) expect(content).toMatch(/unknown|not found|no tool/i);
  });
});

describe('a gateway that fails before the first token', () => {
  it('is tried three times in all, waiting as long as retry-after asks, and no step is taken twice', async () => {
    const timing = fakeTiming();
    const gateway = await serve({
      plays: [
        calls(['increment', {}]),
        json(429, { error: { message: 'Slow down.' } }, { 'retry-after': '7' }),
        json(503, {}, { 'retry-after-ms': '250' }),
        says('Done.'),
      ],
    });
    const server = await serve({ models: createModels({ gatewayUrl: gateway.gateway.url, timing }) });
    const reply = await server.chat('Go.', counting(1));
    expect([reply.status, svcOf(reply).steps]).toEqual([200, 2]);
    expect(timing.sleptMs).toEqual([7_000, 250]);
    const trace = await server.store.trace(svcOf(reply).trace_id);
    expect(trace?.steps.map(({ step, retries }) => [step, retries])).toEqual([
      [1, 0],
      [2, 2],
    ]);
    expect((await server.post(`/v1/sessions/${svcOf(reply).session_id}/finish`)).json).toMatchObject({ reward: 1 });
  });

  it('is not tried again after a token', async () => {
    const server = await serve({ plays: [rawStream(frames(delta({ content: 'Half' }))), says('Done.')] });
    expect(errorOf(await server.chat('Go.', counting(1)))).toEqual([502, 'model_failed', null]);
    expect(server.gateway.requests).toHaveLength(1);
  });

  it('is 429 for nobody but us: the caller gets 502', async () => {
    const server = await serve({ plays: [json(429, { error: { message: 'Quota.', code: 'insufficient_quota' } })] });
    const reply = await server.chat('Go.', counting(1));
    expect(errorOf(reply)).toEqual([502, 'model_failed', null]);
    expect(server.gateway.requests).toHaveLength(1);
  });
});

describe('a transcript that is too long for the model', () => {
  it('is 400 context_length_exceeded: a follow-up keeps the session', async () => {
    const overflow = json(400, { error: { message: 'Too long.', code: 'context_length_exceeded' } });
    const { send } = await serveStage(overflow, says('Shorter.'));
    expect(errorOf(await send([['user', 'A long text.']]))).toEqual([400, 'context_length_exceeded', null]);
    expect(textOf(await send([['user', 'Short.']]))).toBe('Shorter.');
  });
});

describe('a turn that takes too long', () => {
  it('is 504 turn_timeout: a follow-up keeps its session and its completed steps', async () => {
    const clock = turnClock();
    const held = holdRequest();
    const stage = createStage();
    const server = await serve({
      environments: new Map([['stage', stage.target]]),
      plays: [says('Ready.'), calls(['note', { text: 'a' }]), held.play, says('Noted.')],
      turnLimits: { limitMs: clock.limitMs },
    });
    const { session_id: thread_id } = svcOf(await server.chat('Go.', playing));
    const running = server.chat('Note.', { thread_id });
    await held.asked;
    clock.end();
    const slow = await running;
    expect(errorOf(slow)).toEqual([504, 'turn_timeout', null]);
    expect(slow.text).toContain('send the same messages again');
    await held.dropped;
    expect(textOf(await server.chat('Note.', { thread_id }))).toBe('Noted.');
    expect(lastSent(server).slice(OPENING.length)).toEqual([
      ['user', 'Note.'],
      ['assistant', 'calls'],
      ['tool', 'noted 1'],
    ]);
  });
});
