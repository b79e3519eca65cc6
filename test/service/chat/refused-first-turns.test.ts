import { describe, expect, it } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import {
  CHAT,
  type Expected,
  expectRefused,
  expectUntouched,
  HELLO,
  invalid,
  itRefuses,
  missing,
  posting,
  start,
} from './refusal-table.ts';
import { COUNTER, counting, serve, sessionsOf } from './server.ts';

const user = (content: unknown) => ({ ...start, messages: [{ role: 'user', content }] });

describe('a first turn is refused, and starts no session:', () => {
  const bodies: readonly (readonly [id: string, body: object, expected: Expected, says: RegExp])[] = [
    ['chat.start.neither', { messages: HELLO }, missing('scenario'), /scenario_args.*X-SVC-Session-Id.*thread_id/],
    ['chat.start.args-missing', { messages: HELLO, scenario: 'count_to' }, missing('scenario_args'), /scenario_args/],
    [
      'chat.start.scenario-missing',
      { messages: HELLO, scenario_args: {} },
      missing('scenario'),
      /scenario is required/,
    ],
    ['chat.start.scenario-null', { ...start, scenario: null }, missing('scenario'), /scenario is required/],
    ['chat.start.scenario-empty', { ...start, scenario: '' }, invalid('scenario'), /got ""/],
    ['chat.start.scenario-type', { ...start, scenario: 7 }, invalid('scenario'), /a string.*got 7/],
    [
      'chat.start.scenario-unknown',
      { ...start, scenario: 'count' },
      [404, 'scenario_not_found', 'scenario'],
      /"count".*count_to/,
    ],
    ['chat.start.args-null', { ...start, scenario_args: null }, invalid('scenario_args'), /an object, got null/],
    ['chat.start.args-list', { ...start, scenario_args: [] }, invalid('scenario_args'), /an object, got \[\]/],
    ['chat.start.args-text', { ...start, scenario_args: '{}' }, invalid('scenario_args'), /an object, got "\{\}"/],
    ['chat.args.type', counted({ target: 'x' }), [400, 'invalid_scenario_args', 'scenario_args.target'], /target/],
    ['chat.args.missing', counted({}), [400, 'invalid_scenario_args', 'scenario_args.target'], /target/],
    ['chat.args.range', counted({ target: -1 }), [400, 'invalid_scenario_args', 'scenario_args.target'], /target/],
    [
      'chat.args.unknown',
      counted({ target: 1, goal: 2 }),
      [400, 'invalid_scenario_args', 'scenario_args.goal'],
      /goal/,
    ],
    ['chat.messages.missing', counting(1), missing('messages'), /messages is required/],
    ['chat.messages.null', { ...start, messages: null }, invalid('messages'), /an array.*got null/],
    ['chat.messages.empty', { ...start, messages: [] }, invalid('messages'), /got \[\]/],
    ['chat.messages.text', { ...start, messages: 'Hello.' }, invalid('messages'), /got "Hello\."/],
    ['chat.messages.member', { ...start, messages: ['Hello.'] }, invalid('messages.0'), /an object, got "Hello\."/],
    [
      'chat.messages.role',
      { ...start, messages: [{ role: 'robot', content: '' }] },
      invalid('messages.0.role'),
      /"robot"/,
    ],
    ['chat.messages.role-missing', { ...start, messages: [{ content: '' }] }, missing('messages.0.role'), /role/],
    ['chat.messages.content-type', user(7), invalid('messages.0.content'), /got 7/],
    ['chat.messages.content-null', user(null), invalid('messages.0.content'), /got null/],
    ['chat.messages.content-missing', user(undefined), missing('messages.0.content'), /messages\.0\.content/],
    ['chat.messages.part-kind', user([1]), invalid('messages.0.content.0'), /content\.0 has to be an object, got 1\./],
    ['chat.messages.part-later', user([{ type: 'text', text: '' }, null]), invalid('messages.0.content.1'), /got null/],
    ['chat.messages.part-nameless', user([{}]), missing('messages.0.content.0.type'), /type is required: a string/],
    ['chat.stop.member', { ...start, stop: ['a', 7] }, invalid('stop.1'), /stop\.1 has to be a string, got 7/],
    [
      'chat.args.proto',
      { ...start, scenario_args: JSON.parse('{"target":1,"__proto__":{}}') },
      [400, 'invalid_scenario_args', 'scenario_args.__proto__'],
      /scenario_args\.__proto__/,
    ],
    [
      'chat.args.constructor',
      counted({ target: 1, constructor: 2 }),
      [400, 'invalid_scenario_args', 'scenario_args.constructor'],
      /constructor/,
    ],
    [
      'chat.sampling.proto',
      { ...start, response_format: JSON.parse('{"json_schema":{"__proto__":1}}') },
      invalid('response_format.json_schema.__proto__'),
      /no member/,
    ],
    [
      'chat.args.large',
      counted({ target: 1, note: 'x'.repeat(1024 * 1024) }),
      [413, 'request_too_large', 'scenario_args'],
      /at most 1048576/,
    ],
    [
      'chat.sampling.large',
      { ...start, stop: ['x'.repeat(64 * 1024)] },
      [413, 'request_too_large', 'sampling'],
      /at most 65536/,
    ],
    ['chat.messages.part-type', user([{ type: 'audio' }]), invalid('messages.0.content.0'), /audio/],
    ['chat.messages.part-text', user([{ type: 'text', text: 7 }]), invalid('messages.0.content.0'), /7/],
    ['chat.messages.part-url', user([imageAt('https://a.example/b.png')]), invalid('messages.0.content.0'), /data URL/],
    ['chat.model.empty', { ...start, model: '' }, invalid('model'), /got ""/],
    ['chat.model.long', { ...start, model: 'm'.repeat(513) }, invalid('model'), /1 to 512 characters/],
    ['chat.model.zero', { ...start, model: 'a\0b' }, invalid('model'), /got "a/],
    ['chat.model.type', { ...start, model: 7 }, invalid('model'), /got 7/],
    ['chat.model.reference', { ...start, model: 'proctor/none' }, [404, 'model_not_found', 'model'], /proctor\/oracle/],
    ['chat.max-steps.zero', { ...start, max_steps: 0 }, invalid('max_steps'), /1 to 500, got 0/],
    ['chat.max-steps.over', { ...start, max_steps: 501 }, invalid('max_steps'), /1 to 500, got 501/],
    ['chat.max-steps.fraction', { ...start, max_steps: 1.5 }, invalid('max_steps'), /integer.*got 1\.5/],
    ['chat.max-steps.text', { ...start, max_steps: '5' }, invalid('max_steps'), /integer.*got "5"/],
    ['chat.n.two', { ...start, n: 2 }, invalid('n'), /got 2/],
    ['chat.n.zero', { ...start, n: 0 }, invalid('n'), /got 0/],
    ['chat.n.text', { ...start, n: '1' }, invalid('n'), /got "1"/],
    [
      'chat.temperature.text',
      { ...start, temperature: 'hot' },
      invalid('temperature'),
      /temperature has to be a number, got "hot"/,
    ],
    ['chat.user.number', { ...start, user: 1 }, invalid('user'), /user has to be a string, got 1/],
    [
      'chat.forwarded.proto',
      { ...start, provider: JSON.parse('{"order":[{"__proto__":1}]}') },
      invalid('provider.order.0.__proto__'),
      /no member/,
    ],
    ['chat.max_tokens.text', { ...start, max_tokens: '9' }, invalid('max_tokens'), /"9"/],
    ['chat.response_format.number', { ...start, response_format: 5 }, invalid('response_format'), /an object, got 5/],
    ['chat.stop.number', { ...start, stop: 5 }, invalid('stop'), /stop/],
    [
      'chat.tools.given',
      { ...start, tools: [{ type: 'function' }] },
      invalid('tools'),
      /environment supplies the tools/,
    ],
    ['chat.tools.type', { ...start, tools: {} }, invalid('tools'), /environment supplies the tools/],
    ['chat.tool-choice.given', { ...start, tool_choice: 'auto' }, invalid('tool_choice'), /environment supplies/],
    ['chat.functions.given', { ...start, functions: [{ name: 'f' }] }, invalid('functions'), /environment supplies/],
    ['chat.stream.type', { ...start, stream: 'yes' }, invalid('stream'), /true or false.*got "yes"/],
    ['chat.stream-options.type', { ...start, stream_options: [] }, invalid('stream_options'), /object/],
    ['chat.include-usage.type', withOption({ include_usage: 1 }), invalid('stream_options.include_usage'), /got 1/],
    ['chat.svc-events.type', withOption({ svc_events: 'yes' }), invalid('stream_options.svc_events'), /got "yes"/],
    ['chat.thread-id.empty', { messages: HELLO, thread_id: '' }, invalid('thread_id'), /thread_id is empty/],
    ['chat.thread-id.blank', { messages: HELLO, thread_id: ' ' }, invalid('thread_id'), /thread_id is empty/],
    ['chat.thread-id.type', { messages: HELLO, thread_id: 7 }, invalid('thread_id'), /a string, got 7/],
    ['chat.conversation-id.empty', { ...start, conversation_id: '' }, invalid('conversation_id'), /is empty/],
    [
      'chat.ids.disagree',
      { messages: HELLO, thread_id: 'a', conversation_id: 'b' },
      invalid('conversation_id'),
      /"a".*"b"/,
    ],
    [
      'chat.session.unknown',
      { messages: HELLO, thread_id: 'sess_0' },
      [404, 'session_not_found', 'thread_id'],
      /"sess_0"/,
    ],
    [
      'chat.session.unknown-2',
      { ...start, conversation_id: 's' },
      [404, 'session_not_found', 'conversation_id'],
      /"s"/,
    ],
  ];
  itRefuses(bodies.map(([id, body, ...rest]) => [id, posting(body), ...rest]));

  const headed: readonly (readonly [id: string, header: string, body: object, expected: Expected, says: RegExp])[] = [
    ['chat.header.empty', '', start, invalid(null), /X-SVC-Session-Id is empty/],
    ['chat.header.blank', '  ', start, invalid(null), /X-SVC-Session-Id is empty/],
    ['chat.header.twice', 'sess_0, sess_1', { messages: HELLO }, invalid(null), /"sess_0, sess_1".*once/],
    ['chat.header.unknown', 'sess_0', { messages: HELLO }, [404, 'session_not_found', null], /"sess_0"/],
    ['chat.header.disagree', 'a', { ...start, thread_id: 'b' }, invalid('thread_id'), /"a".*"b"/],
    ['chat.header.disagree-2', 'a', { ...start, conversation_id: 'b' }, invalid('conversation_id'), /"a".*"b"/],
  ];
  itRefuses(headed.map(([id, header, body, ...rest]) => [id, posting(body, { 'X-SVC-Session-Id': header }), ...rest]));

  it('chat.scenario.shared: a short name that two environments share, with the full names', async () => {
    const server = await serve({
      environments: new Map([
        ['one', COUNTER],
        ['two', COUNTER],
      ]),
    });
    expectRefused(await server.post(CHAT, start), invalid('scenario'), /one:count_to.*two:count_to/);
    await expectUntouched(server);
    expectRefused(
      await server.post(CHAT, { ...start, scenario: 'counter:count_to' }),
      invalid('scenario'),
      /one:count_to.*two:count_to/,
    );
    const unknown = await server.post(CHAT, { ...start, scenario: 'count' });
    expectRefused(unknown, [404, 'scenario_not_found', 'scenario'], /There are one:count_to, .*two:count_to/);
    expect((await server.post(CHAT, { ...start, scenario: 'two:count_to' })).status).toBe(200);
  });

  it('chat.model.no-gateway: another model than a reference one where no gateway is configured', async () => {
    const server = await serve({ models: createModels({}), model: 'proctor/noop' });
    const refused = await server.post(CHAT, { ...start, model: 'gpt' });
    expectRefused(refused, [404, 'model_not_found', 'model'], /"gpt".*PROCTOR_GATEWAY_URL/);
    await expectUntouched(server);
    expect((await server.post(CHAT, start)).status).toBe(200);
  });

  it('chat.capacity: over maxSessions, with retry-after', async () => {
    const server = await serve({ maxSessions: 1 });
    await server.post(CHAT, start);
    const refused = await server.post(CHAT, start);
    expectRefused(refused, [503, 'capacity_exceeded', null], /1 session,/);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(sessionsOf(await server.get('/v1/sessions?status=all'))).toHaveLength(1);
    expect(server.gateway.requests).toHaveLength(1);
  });

  it('chat.max-steps.ends: 1 and 500 are taken', async () => {
    const server = await serve();
    for (const max_steps of [1, 500]) expect((await server.post(CHAT, { ...start, max_steps })).status).toBe(200);
  });

  it('chat.idempotency-key: one that is blank or too long', async () => {
    const server = await serve();
    for (const key of [' ', 'k'.repeat(256)]) {
      expectRefused(await server.post(CHAT, start, { 'idempotency-key': key }), invalid(null), /Idempotency-Key/);
    }
    await expectUntouched(server);
  });
});

function counted(args: object): object {
  return { messages: HELLO, scenario: 'count_to', scenario_args: args };
}

function imageAt(url: string): object {
  return { type: 'image_url', image_url: { url } };
}

function withOption(options: object): object {
  return { ...start, stream: true, stream_options: options };
}

describe('a null is as an absent optional scalar:', () => {
  it('chat.null-scalars', async () => {
    const server = await serve();
    const nulls = { model: null, stream: null, stream_options: null, thread_id: null, conversation_id: null };
    const more = { max_steps: null, n: null, tools: null, tool_choice: null, temperature: null };
    expect((await server.post(CHAT, { ...start, ...nulls, ...more })).status).toBe(200);
  });

  it('chat.unknown-fields: unknown fields, an empty list of tools and n = 1 are taken', async () => {
    const server = await serve();
    const more = { store: true, metadata: { a: 'b' }, tools: [], n: 1, stream_options: { include_obfuscation: false } };
    expect((await server.post(CHAT, { ...start, ...more })).status).toBe(200);
    expect(server.gateway.requests[0]?.body).not.toHaveProperty('store');
  });
});
