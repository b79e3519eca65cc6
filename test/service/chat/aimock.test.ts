import { describe, expect, it } from 'vitest';
import {
  type AskedBody,
  calls,
  failsWith,
  heldTimings,
  type Message,
  piecesOf,
  STREAMED,
  saidBy,
  says,
  serveByAimock,
  WORK,
} from './aimock-gateway.ts';
import { openChat } from './open-chat.ts';
import { completionOf, counting, errorOf, framesOf, svcOf } from './server.ts';

const last = (body: AskedBody | undefined, count: number): readonly Message[] => body?.messages.slice(-count) ?? [];

describe('with aimock as the gateway, a turn', () => {
  it('offers the tools, answers each call by its id, and leads to a reward', async () => {
    const server = await serveByAimock([
      { ...calls(['increment', { by: 2 }, 'call_first']), match: { userMessage: 'Go.', hasToolResult: false } },
      { ...calls(['read', {}, 'call_second']), match: { toolCallId: 'call_first', toolResultContains: '2' } },
      { ...says('It shows 2.'), match: { toolCallId: 'call_second', toolName: 'increment' } },
    ]);
    const reply = await server.chat('Go.', counting(2));
    expect(completionOf(reply).choices).toMatchObject([
      { message: { role: 'assistant', content: 'It shows 2.' }, finish_reason: 'stop' },
    ]);
    expect(svcOf(reply)).toMatchObject({ status: 'active', steps: 3 });
    expect(await server.finish(reply)).toMatchObject({ reward: 1, answer: 'It shows 2.', status: 'finished' });

    const [first, ...others] = server.asked();
    expect(Object.keys(first ?? {}).toSorted()).toEqual(['messages', 'model', 'stream', 'stream_options', 'tools']);
    expect(first).toMatchObject({ model: 'test-model', stream: true, stream_options: { include_usage: true } });
    const by = { type: 'integer', default: 1, description: 'How much to add.' };
    expect(first?.tools).toMatchObject([
      { type: 'function', function: { name: 'increment', parameters: { type: 'object', properties: { by } } } },
      { type: 'function', function: { name: 'read', parameters: { type: 'object' } } },
      { type: 'function', function: { name: 'slow_increment' } },
    ]);
    expect(first?.messages).toEqual([
      { role: 'user', content: expect.stringContaining('exactly 2') },
      { role: 'user', content: 'Go.' },
    ]);
    const call = (id: string, name: string, args: string) => ({
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name, arguments: args } }],
    });
    const once = [
      ...(first?.messages ?? []),
      call('call_first', 'increment', '{"by":2}'),
      { role: 'tool', tool_call_id: 'call_first', content: '2' },
    ];
    const twice = [
      ...once,
      call('call_second', 'read', '{}'),
      { role: 'tool', tool_call_id: 'call_second', content: '2' },
    ];
    expect(others).toEqual([
      { ...first, messages: once },
      { ...first, messages: twice },
    ]);
  });

  it('streamed gives each delta when it comes, not when the response has ended', async () => {
    const { recordedTimings, letGo } = heldTimings({ after: 2 });
    const server = await serveByAimock([{ ...says('One two more'), recordedTimings }]);
    const chat = openChat(server.url, { messages: [{ role: 'user', content: 'Go.' }], ...STREAMED, ...counting(0) });
    await chat.heard('"One "');
    expect(chat.text).not.toContain('two');
    letGo();
    await chat.heard('"two "');
    expect(chat.text).not.toContain('more');
    letGo();
    await chat.heard('"more"');
    expect(chat.text).not.toContain('"finish_reason":"stop"');
    letGo();
    await chat.ended;
    expect(chat.text).toMatch(/"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/s);
  });

  it('streamed gives the deltas of all its responses, and a character that was cut in two as one', async () => {
    const text = 'It shows 1: 👩‍🚀\u2028';
    const server = await serveByAimock([
      { response: { content: 'I count.', toolCalls: [{ name: 'increment', arguments: {} }] } },
      { ...says(text), chunkSize: 1 },
    ]);
    const reply = await server.chat('Go.', { ...STREAMED, ...counting(1) });
    const pieces = piecesOf(reply);
    expect(pieces.slice(0, 2)).toEqual(['I co', 'unt.']);
    expect(pieces.join('')).toBe(`I count.\n\n${text}`);
    expect(pieces.slice(2)).toEqual(['\n\nI', ...text.split('').slice(1)]);
    expect(await server.finish(reply)).toMatchObject({ reward: 1, answer: text });
  });

  it('runs the calls of one response together where they are read-only, and answers them in order', async () => {
    const server = await serveByAimock([calls(['meet', { name: 'a' }], ['meet', { name: 'b' }]), says('Met.')]);
    const reply = await server.chat('Go.', WORK);
    expect(saidBy(reply)).toBe('Met.');
    expect(server.asked()).toHaveLength(2);
    const [asked, one, two] = last(server.asked()[1], 3);
    expect(asked?.tool_calls?.map((call) => call.function.arguments)).toEqual(['{"name":"a"}', '{"name":"b"}']);
    const ids = asked?.tool_calls?.map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    expect([one?.tool_call_id, two?.tool_call_id]).toEqual(ids);
    expect([one?.content, two?.content]).toEqual(['met as a', 'met as b']);
    expect(await server.logOf(reply)).toEqual(['a came', 'b came']);
  });

  it('reads calls before, between and after pieces of text', async () => {
    const saw = (name: string) => ({ type: 'toolCall', name: 'saw', arguments: { name } });
    const say = (text: string) => ({ type: 'text', text });
    const server = await serveByAimock([
      { response: { blocks: [saw('oak'), say('First the oak, '), saw('elm'), say('then the elm.')] } },
      says('Done.'),
    ]);
    const reply = await server.chat('Go.', WORK);
    expect(saidBy(reply)).toBe('First the oak, then the elm.\n\nDone.');
    expect(last(server.asked()[1], 3)[0]).toMatchObject({ content: 'First the oak, then the elm.' });
    expect(await server.logOf(reply)).toEqual(['oak begun', 'oak sawn', 'elm begun', 'elm sawn']);
  });

  it('does not run a call whose arguments are no JSON: the model is told, and its history is valid', async () => {
    const broken = { name: 'saw', arguments: '{"name": "oak' };
    const server = await serveByAimock([{ response: { toolCalls: [broken] } }, says('Sorry.')]);
    const reply = await server.chat('Go.', WORK);
    const [asked, told] = last(server.asked()[1], 2);
    expect(asked?.tool_calls?.map((call) => call.function.arguments)).toEqual(['{}']);
    expect(told?.content).toContain('not valid JSON');
    expect((await server.traceOf(reply)).steps[0]?.tool_results[0]?.raw_arguments).toBe(broken.arguments);
    expect(await server.logOf(reply)).toEqual([]);
  });

  it('follows another with the whole transcript, and goes to the model that the session was started with', async () => {
    const server = await serveByAimock([
      { ...says('At 0.'), match: { model: 'gpt-special', turnIndex: 0 } },
      { ...says('Still at 0.'), match: { model: 'gpt-special', turnIndex: 1, userMessage: 'Sure?' } },
    ]);
    const brief = { role: 'system', content: 'Be brief.' };
    const messages = [brief, { role: 'user', content: 'Go.' }];
    const first = await server.chat('', { messages, model: 'gpt-special', ...counting(0) });
    const second = await server.chat('Sure?', { thread_id: svcOf(first).session_id });
    expect([saidBy(first), saidBy(second)]).toEqual(['At 0.', 'Still at 0.']);
    expect(server.asked()[1]?.messages).toEqual([
      brief,
      { role: 'user', content: expect.stringContaining('exactly 0') },
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: 'At 0.' },
      { role: 'user', content: 'Sure?' },
    ]);
  });

  it('forwards the sampling fields with each of its calls, and nothing that is ours', async () => {
    const sampling = {
      temperature: 0.25,
      top_p: 0.5,
      max_completion_tokens: 100,
      seed: 7,
      stop: ['END'],
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      logit_bias: { '50256': -100 },
      reasoning_effort: 'low',
      response_format: { type: 'json_object' },
      parallel_tool_calls: false,
      user: 'someone',
    };
    const json = { responseFormat: 'json_object' };
    const server = await serveByAimock([
      { ...calls(['increment', {}]), match: { ...json, hasToolResult: false } },
      { ...says('{"count": 1}'), match: { ...json, hasToolResult: true } },
    ]);
    const ours = { ...counting(1), max_steps: 5, n: 1, stream_options: { svc_events: true }, unknown_field: 1 };
    const reply = await server.chat('Go.', { ...STREAMED, ...ours, ...sampling });
    expect(piecesOf(reply).join('')).toBe('{"count": 1}');
    expect(server.asked()).toHaveLength(2);
    for (const { messages: _, tools: __, ...rest } of server.asked()) {
      expect(rest).toEqual({ ...sampling, model: 'test-model', stream: true, stream_options: { include_usage: true } });
    }
  });

  it('sums the usage of its calls, plain and streamed', async () => {
    const usage = (prompt_tokens: number, completion_tokens: number) => ({
      usage: { prompt_tokens, completion_tokens },
    });
    const call = calls(['increment', {}]);
    const counted = { response: { ...call.response, ...usage(10, 5) } };
    const server = await serveByAimock([counted, says('One.', usage(20, 7)), counted, says('Two.', usage(40, 1))]);
    const plain = await server.chat('Go.', counting(2));
    expect(completionOf(plain).usage).toMatchObject({ prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 });
    const fields = { thread_id: svcOf(plain).session_id, ...STREAMED, stream_options: { include_usage: true } };
    const frames = framesOf(await server.chat('More.', fields));
    expect(frames.at(-2)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 50, completion_tokens: 6, total_tokens: 56 },
    });
    const sum = { prompt_tokens: 80, completion_tokens: 18, total_tokens: 98, cost_usd: null, model_calls: 4 };
    expect((await server.traceOf(plain)).usage).toMatchObject(sum);
  });

  it('streams the reasoning of the model apart from its text, and sends it back as it came', async () => {
    const server = await serveByAimock([
      { response: { ...calls(['increment', {}]).response, reasoning: 'One will do.' } },
      says('At 1.', { reasoning: 'It is done.' }),
    ]);
    const reply = await server.chat('Go.', { ...STREAMED, ...counting(1) });
    expect(piecesOf(reply).join('')).toBe('At 1.');
    const pieces = piecesOf(reply, 'reasoning_content');
    expect(pieces.slice(0, 3)).toEqual(['One ', 'will', ' do.']);
    expect(pieces.join('')).toContain('It is done.');
    expect(last(server.asked()[1], 2)[0]).toMatchObject({ reasoning_content: 'One will do.', content: null });
    expect((await server.traceOf(reply)).steps.map(({ message }) => message.reasoning)).toEqual([
      'One will do.',
      'It is done.',
    ]);
  });

  it.each(['length', 'content_filter'])('passes the finish_reason %s through', async (finishReason) => {
    const server = await serveByAimock([says('Half', { finishReason })]);
    const reply = await server.chat('Go.', WORK);
    expect(completionOf(reply).choices[0]).toMatchObject({ message: { content: 'Half' }, finish_reason: finishReason });
  });
});

describe('with aimock as a gateway', () => {
  it('that asks for a key, the right one is shown', async () => {
    const keys = { asked: 'sk-the-right-key', shown: 'sk-the-right-key' };
    const server = await serveByAimock([says('Welcome.')], { keys });
    expect(saidBy(await server.chat('Go.', WORK))).toBe('Welcome.');
  });

  it('that asks for another key, the caller is told what to check, and sees no key', async () => {
    const keys = { asked: 'sk-the-right-key', shown: 'sk-the-wrong-key' };
    const server = await serveByAimock([says('Never said.')], { keys });
    const reply = await server.chat('Go.', WORK);
    expect(errorOf(reply)).toEqual([502, 'model_failed', null]);
    expect(reply.text).toContain('PROCTOR_GATEWAY_API_KEY');
    expect(reply.text).not.toContain('sk-');
  });

  it('its models are listed beside the reference models', async () => {
    const server = await serveByAimock([{ ...says('Hm.'), match: { model: 'gpt-special' } }]);
    const { json } = await server.get('/v1/models');
    const ids = (json as { data: { id: string }[] }).data.map(({ id }) => id);
    expect(ids).toContain('gpt-special');
    expect(ids).toContain('proctor/oracle');
  });

  it('of OpenRouter’s make, the cost, the cached and the reasoning tokens are counted, and comments are passed over', async () => {
    const counts = {
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 60 },
      completion_tokens_details: { reasoning_tokens: 8 },
      cost: 0.25,
    };
    const call = { response: { ...calls(['increment', {}]).response, usage: counts }, openRouterProcessing: true };
    const server = await serveByAimock([call, says('One.', { usage: counts })], { path: '/api/v1' });
    const reply = await server.chat('Go.', counting(1));
    expect(saidBy(reply)).toBe('One.');
    expect(completionOf(reply).usage).toMatchObject({
      total_tokens: 240,
      prompt_tokens_details: { cached_tokens: 120 },
      completion_tokens_details: { reasoning_tokens: 16 },
    });
    expect((await server.traceOf(reply)).usage).toMatchObject({
      cost_usd: 0.5,
      cached_tokens: 120,
      reasoning_tokens: 16,
    });
  });

  it('of OpenRouter’s make, an error with a number as its code is read as any other', async () => {
    const overloaded = failsWith(503, 'No provider', { metadata: { raw: 'The provider is down' } });
    const plays = [overloaded, overloaded, overloaded];
    const server = await serveByAimock(plays, { path: '/api/v1' });
    const reply = await server.chat('Go.', WORK);
    expect(errorOf(reply)).toEqual([502, 'model_failed', null]);
    expect(reply.text).toContain('The provider is down');
    expect(server.asked()).toHaveLength(3);
  });
});
