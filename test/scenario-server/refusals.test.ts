import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { ERRORS, type ErrorCode, errorBodySchema } from '../../src/contract/errors.ts';
import { createModels } from '../../src/model/create-model.ts';
import { keyCheck } from '../../src/scenario-server/serve-scenarios.ts';
import { type Reply, type Send, send } from '../http/http-server.ts';
import { json, startGateway } from '../model/fake-gateway.ts';
import { holdRequest } from './open-chat.ts';
import {
  COUNTER,
  calls,
  counting,
  errorOf,
  openServer,
  says,
  serve,
  svcOf,
  type TestServer,
  type TestServerOptions,
} from './server.ts';

const CHAT = '/v1/chat/completions';
const HELLO = [{ role: 'user', content: 'Hello.' }];
const start = { messages: HELLO, ...counting(1) };

type Expected = readonly [status: number, code: ErrorCode, param: string | null];

/** The form that every error has, and what this one says. */
function expectRefused(reply: Reply, [status, code, param]: Expected, says: RegExp): void {
  const { error } = errorBodySchema.strict().parse(reply.json);
  expect([reply.status, error.code, error.param, error.type]).toEqual([status, code, param, ERRORS[code].type]);
  expect(error.message).toMatch(says);
  expect(error.message).not.toMatch(/\n\s+at |\/src\/|node_modules/);
  expect(reply.headers['x-request-id']).toBeTruthy();
  expect(reply.headers['x-should-retry']).toBe(status === 409 ? 'false' : undefined);
}

async function expectUntouched(server: TestServer): Promise<void> {
  expect((await server.get('/v1/sessions?status=all')).json).toEqual({ object: 'list', sessions: [] });
  expect(server.gateway.requests).toEqual([]);
}

/** One server for all that is refused before anything happens; each test sees that nothing did. */
const untouched = sharedServer();

function sharedServer(options?: TestServerOptions): { server(): Promise<TestServer> } {
  let opened: Promise<TestServer> | undefined;
  afterAll(async () => (await opened)?.close());
  return {
    server() {
      opened ??= openServer(options);
      return opened;
    },
  };
}

const invalid = (param: string | null): Expected => [400, 'invalid_parameter', param];
const missing = (param: string): Expected => [400, 'missing_required_parameter', param];
const user = (content: unknown) => ({ ...start, messages: [{ role: 'user', content }] });

describe('a first turn is refused, and starts no session:', () => {
  it.each<readonly [id: string, body: object, expected: Expected, says: RegExp]>([
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
    ['chat.messages.part-type', user([{ type: 'audio' }]), invalid('messages.0.content.0'), /audio/],
    ['chat.messages.part-text', user([{ type: 'text', text: 7 }]), invalid('messages.0.content.0'), /7/],
    ['chat.messages.part-url', user([imageAt('https://a.example/b.png')]), invalid('messages.0.content.0'), /data URL/],
    ['chat.model.empty', { ...start, model: '' }, invalid('model'), /got ""/],
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
  ])('%s', async (_id, body, expected, says) => {
    const server = await untouched.server();
    expectRefused(await server.post(CHAT, body), expected, says);
    await expectUntouched(server);
  });

  it.each<readonly [id: string, header: string, body: object, expected: Expected, says: RegExp]>([
    ['chat.header.empty', '', start, invalid(null), /X-SVC-Session-Id is empty/],
    ['chat.header.blank', '  ', start, invalid(null), /X-SVC-Session-Id is empty/],
    ['chat.header.unknown', 'sess_0', { messages: HELLO }, [404, 'session_not_found', null], /"sess_0"/],
    ['chat.header.disagree', 'a', { ...start, thread_id: 'b' }, invalid('thread_id'), /"a".*"b"/],
    ['chat.header.disagree-2', 'a', { ...start, conversation_id: 'b' }, invalid('conversation_id'), /"a".*"b"/],
  ])('%s', async (_id, header, body, expected, says) => {
    const server = await untouched.server();
    expectRefused(await server.post(CHAT, body, { 'X-SVC-Session-Id': header }), expected, says);
    await expectUntouched(server);
  });

  it('chat.scenario.shared: a short name that two environments share, with the full names', async () => {
    const server = await serve({
      environments: new Map([
        ['one', COUNTER],
        ['two', COUNTER],
      ]),
    });
    expectRefused(await server.post(CHAT, start), invalid('scenario'), /one:count_to.*two:count_to/);
    await expectUntouched(server);
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
    const server = await serve({ maxSessions: 0 });
    const refused = await server.post(CHAT, start);
    expectRefused(refused, [503, 'capacity_exceeded', null], /0 sessions/);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    await expectUntouched(server);
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

const JSON_TYPE = { 'content-type': 'application/json' };

describe('what is no request of this route is refused:', () => {
  it.each<readonly [id: string, request: Send, expected: Expected, says: RegExp]>([
    ['http.body.empty', { headers: JSON_TYPE }, [400, 'invalid_json', null], /empty/],
    ['http.body.blank', { headers: JSON_TYPE, body: ' \n' }, [400, 'invalid_json', null], /empty/],
    ['http.body.not-json', { headers: JSON_TYPE, body: '{"messages":' }, [400, 'invalid_json', null], /not JSON/],
    [
      'http.body.not-utf8',
      { headers: JSON_TYPE, body: Buffer.from([0x22, 0xff, 0x22]) },
      [400, 'invalid_json', null],
      /UTF-8/,
    ],
    ['http.body.list', { headers: JSON_TYPE, body: '[]' }, invalid(null), /a JSON object, got \[\]/],
    ['http.body.null', { headers: JSON_TYPE, body: 'null' }, invalid(null), /a JSON object, got null/],
    ['http.body.text', { headers: JSON_TYPE, body: '"hi"' }, invalid(null), /a JSON object, got "hi"/],
    [
      'http.body.deep',
      { headers: JSON_TYPE, body: `${'['.repeat(5_000)}${']'.repeat(5_000)}` },
      invalid(null),
      /nested deeper/,
    ],
    [
      'http.body.declared',
      { headers: { 'content-type': 'text/plain' }, body: JSON.stringify(start) },
      [415, 'unsupported_media_type', null],
      /"text\/plain"/,
    ],
    [
      'http.body.form',
      { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=b' },
      [415, 'unsupported_media_type', null],
      /application\/json/,
    ],
    [
      'http.body.encoded',
      { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: 'x' },
      [415, 'unsupported_media_type', null],
      /"gzip"/,
    ],
    [
      'http.body.large',
      { headers: JSON_TYPE, body: ' '.repeat(4 * 1024 * 1024 + 1) },
      [413, 'request_too_large', null],
      /4194304 bytes/,
    ],
    ['http.method.get', { method: 'GET' }, [405, 'method_not_allowed', null], /takes POST/],
    ['http.method.put', { method: 'PUT', headers: JSON_TYPE, body: '{}' }, [405, 'method_not_allowed', null], /PUT/],
    ['http.method.delete', { method: 'DELETE' }, [405, 'method_not_allowed', null], /DELETE/],
    [
      'http.host.foreign',
      { headers: { host: 'evil.example' } },
      [403, 'forbidden_origin', null],
      /Host.*"evil\.example"/,
    ],
    [
      'http.origin.foreign',
      { headers: { origin: 'https://evil.example' } },
      [403, 'forbidden_origin', null],
      /Origin.*evil/,
    ],
    ['http.origin.null', { headers: { origin: 'null' } }, [403, 'forbidden_origin', null], /Origin.*"null"/],
  ])('%s', async (_id, request, expected, says) => {
    const server = await untouched.server();
    const reply = await send(server.url, CHAT, { method: 'POST', ...request });
    expectRefused(reply, expected, says);
    if (expected[0] === 405) expect(reply.headers.allow).toBe('POST, OPTIONS');
    await expectUntouched(server);
  });

  it('http.body.limit: a body of exactly the limit is read', async () => {
    const server = await serve();
    const body = JSON.stringify(start).padEnd(4 * 1024 * 1024);
    expect((await send(server.url, CHAT, { method: 'POST', headers: JSON_TYPE, body })).status).toBe(200);
  });

  it('http.body.chunked: one over the limit that does not say its size', async () => {
    const server = await untouched.server();
    const headers = { ...JSON_TYPE, 'transfer-encoding': 'chunked' };
    const body = ' '.repeat(4 * 1024 * 1024 + 1);
    const reply = await send(server.url, CHAT, { method: 'POST', headers, body });
    expectRefused(reply, [413, 'request_too_large', null], /limit/);
  });

  it.each([
    `${CHAT}/`,
    '//v1/chat/completions',
    '/v1//sessions',
    '/v1/sessions/',
    '/v1/chat',
    '/V1/sessions',
    '/v1/%zz',
  ])('http.unknown-url: %s', async (path) => {
    const server = await untouched.server();
    expectRefused(await server.get(path), [404, 'unknown_url', null], /openapi\.json/);
  });

  it('http.origin.allowed: a loopback origin and a name of allowedHosts are let in, and preflights answered', async () => {
    const server = await serve({ allowedHosts: ['desk.example'] });
    const headers = { ...JSON_TYPE, host: 'desk.example', origin: 'https://desk.example' };
    const reply = await send(server.url, CHAT, { method: 'POST', headers, body: JSON.stringify(start) });
    expect([reply.status, reply.headers['access-control-allow-origin']]).toEqual([200, 'https://desk.example']);
    expect(reply.headers['access-control-expose-headers']).toMatch(/x-svc-session-id.*x-svc-trace-id/);
    const preflight = await send(server.url, CHAT, { method: 'OPTIONS', headers: { origin: 'http://localhost:3000' } });
    expect([preflight.status, preflight.headers['access-control-allow-headers']]).toEqual([
      204,
      expect.stringMatching(/idempotency-key.*x-svc-session-id/),
    ]);
  });
});

describe('where a key is set,', () => {
  const KEY = 'k3y-of-the-desk';
  const withKey = { ...JSON_TYPE, authorization: `Bearer ${KEY}` };
  const { server: serveWithKey } = sharedServer({ verifyKey: keyCheck(KEY) });

  it.each<readonly [id: string, headers: Record<string, string>]>([
    ['http.key.missing', {}],
    ['http.key.wrong', { authorization: 'Bearer nope' }],
    ['http.key.scheme', { authorization: `Basic ${KEY}` }],
    ['http.key.bare', { authorization: KEY }],
    ['http.key.empty', { authorization: 'Bearer ' }],
  ])('%s: 401 on every route, never with the key', async (_id, headers) => {
    const server = await serveWithKey();
    for (const [method, path] of [
      ['POST', CHAT],
      ['GET', CHAT],
      ['GET', '/v1/sessions'],
      ['GET', '/scenarios'],
      ['GET', '/v1/models'],
      ['POST', '/v1/sessions/x/finish'],
      ['DELETE', '/v1/sessions/x'],
      ['POST', '/v1/lifecycle-tools/call'],
      ['POST', '/mcp'],
      ['GET', '/nowhere'],
    ] as const) {
      const reply = await send(server.url, path, { method, headers });
      expectRefused(reply, [401, 'invalid_api_key', null], /key/i);
      expect(reply.headers['www-authenticate']).toBe('Bearer');
      expect(reply.text).not.toContain(KEY);
    }
  });

  it('http.key.right: with it a session is held; the scheme is matched without case', async () => {
    const server = await serveWithKey();
    const body = JSON.stringify(start);
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const headers = { ...JSON_TYPE, authorization: `${scheme} ${KEY}` };
      expect((await send(server.url, CHAT, { method: 'POST', headers, body })).status).toBe(200);
    }
  });

  it('http.order: Host and Origin, key, path, method, body', async () => {
    const server = await serveWithKey();
    const foreign = { host: 'evil.example' };
    const codeOf = async (method: string, path: string, headers: Record<string, string>, body?: string) =>
      errorOf(await send(server.url, path, { method, headers, ...(body === undefined ? {} : { body }) }))[1];
    expect(await codeOf('PUT', '/nowhere', foreign)).toBe('forbidden_origin');
    expect(await codeOf('PUT', '/nowhere', {})).toBe('invalid_api_key');
    expect(await codeOf('PUT', '/nowhere', withKey, '{')).toBe('unknown_url');
    expect(await codeOf('PUT', CHAT, withKey, '{')).toBe('method_not_allowed');
    expect(await codeOf('POST', CHAT, withKey, '{')).toBe('invalid_json');
  });

  it('http.open: /healthz and /readyz need neither key nor Host', async () => {
    const server = await serveWithKey();
    for (const path of ['/healthz', '/readyz']) {
      expect((await send(server.url, path, { headers: { host: 'evil.example' } })).status).toBe(200);
    }
  });
});

describe('a follow-up is refused, and the session goes on:', () => {
  it.each<readonly [id: string, fields: object, expected: Expected, says: RegExp]>([
    ['chat.next.scenario', { scenario: 'keep' }, [409, 'session_conflict', 'scenario'], /"count_to".*"keep"/],
    ['chat.next.args', { scenario_args: { target: 2 } }, [409, 'session_conflict', 'scenario_args'], /\{"target":1\}/],
    ['chat.next.model', { model: 'other' }, invalid('model'), /"test-model".*"other"/],
    ['chat.next.max-steps', { max_steps: 7 }, invalid('max_steps'), /100.*7/],
    [
      'chat.next.nothing',
      { messages: [{ role: 'assistant', content: 'Done.' }] },
      invalid('messages'),
      /no user message/,
    ],
    [
      'chat.next.history',
      { messages: [...HELLO, { role: 'assistant', content: 'Done.' }] },
      invalid('messages'),
      /after the last assistant/,
    ],
    [
      'chat.next.system',
      { messages: [{ role: 'system', content: 'Be brief.' }] },
      invalid('messages'),
      /no user message/,
    ],
    [
      'chat.next.tool',
      { messages: [{ role: 'tool', tool_call_id: 'a', content: 'x' }] },
      invalid('messages'),
      /no user/,
    ],
    ['chat.next.n', { n: 2 }, invalid('n'), /got 2/],
    ['chat.next.tools', { tools: [{ type: 'function' }] }, invalid('tools'), /environment supplies/],
  ])('%s', async (_id, fields, expected, says) => {
    const server = await serve();
    const { session_id } = svcOf(await server.post(CHAT, start));
    const refused = await server.post(CHAT, { messages: HELLO, thread_id: session_id, ...fields });
    expectRefused(refused, expected, says);
    expect(server.gateway.requests).toHaveLength(1);
    expect((await server.chat('Go on.', { thread_id: session_id })).status).toBe(200);
  });

  it('chat.next.same: its own scenario, arguments, model and max_steps are taken again', async () => {
    const server = await serve();
    const fields = { ...counting(1), model: 'a-model', max_steps: 9 };
    const { session_id } = svcOf(await server.chat('Go.', fields));
    for (const scenario of ['count_to', 'counter:count_to']) {
      expect((await server.chat('Go on.', { ...fields, scenario, thread_id: session_id })).status).toBe(200);
    }
    expect(server.gateway.requests.map(({ body }) => body.model)).toEqual(['a-model', 'a-model', 'a-model']);
  });
});

describe('a session that has ended takes no turn, and says how it ended:', () => {
  it.each<readonly [id: string, state: string, end: (server: TestServer, path: string) => Promise<unknown>]>([
    ['chat.ended.finished', 'finished', (server, path) => server.post(`${path}/finish`)],
    ['chat.ended.abandoned', 'abandoned', (server, path) => server.remove(path)],
    ['chat.ended.expired', 'expired', (server, path) => untilEnded(server, path)],
  ])('%s', async (_id, state, end) => {
    const server = await serve(state === 'expired' ? { sessionTtlMs: 30 } : {});
    const { session_id } = svcOf(await server.post(CHAT, start));
    await end(server, `/v1/sessions/${session_id}`);
    const refused = await server.chat('More.', { thread_id: session_id });
    expectRefused(refused, [409, 'session_finished', null], new RegExp(`is ${state}`));
    expect(server.gateway.requests).toHaveLength(1);
  });

  it('chat.ended.failed', async () => {
    const server = await serve({ plays: [json(400, { error: { message: 'No.' } })] });
    const failed = await server.post(CHAT, start);
    expectRefused(failed, [502, 'model_failed', null], /No\./);
    const refused = await server.chat('More.', { thread_id: String(failed.headers['x-svc-session-id']) });
    expectRefused(refused, [409, 'session_finished', null], /is failed: .*No\./);
  });
});

async function untilEnded(server: TestServer, path: string): Promise<void> {
  while ((await server.get(path)).text.includes('"active"')) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('a session that is busy', () => {
  it('chat.busy: refuses a second turn and finish, with x-should-retry: false', async () => {
    const held = holdRequest();
    const server = await serve({ plays: [says('Ready.'), held.play, says('Again.')] });
    const { session_id } = svcOf(await server.post(CHAT, start));
    const running = server.chat('Wait.', { thread_id: session_id });
    const response = await held.asked;
    expectRefused(await server.chat('Now.', { thread_id: session_id }), [409, 'session_busy', null], /still running/);
    const streamed = await server.chat('Now.', { thread_id: session_id, stream: true });
    expectRefused(streamed, [409, 'session_busy', null], /still running/);
    const finish = await server.post(`/v1/sessions/${session_id}/finish`);
    expectRefused(finish, [409, 'session_busy', null], /still running/);
    await says('Waited.')(response);
    expect((await running).status).toBe(200);
  });
});

describe('what goes wrong behind us has a status of its own:', () => {
  const overflow = { error: { message: 'Too long.', code: 'context_length_exceeded', type: 'invalid_request_error' } };

  it.each<readonly [id: string, status: number, body: object, expected: Expected, tries: number]>([
    ['chat.gateway.400', 400, { error: { message: 'Bad.' } }, [502, 'model_failed', null], 1],
    ['chat.gateway.401', 401, { error: { message: 'Bad key.' } }, [502, 'model_failed', null], 1],
    ['chat.gateway.429', 429, { error: { message: 'Slow down.' } }, [502, 'model_failed', null], 3],
    ['chat.gateway.500', 500, { error: { message: 'Oops.' } }, [502, 'model_failed', null], 3],
    ['chat.gateway.503', 503, { detail: 'Loading.' }, [502, 'model_failed', null], 3],
    ['chat.gateway.200', 200, { error: { message: 'In the body.' } }, [502, 'model_failed', null], 1],
    ['chat.context-length', 400, overflow, [400, 'context_length_exceeded', null], 1],
  ])('%s, plain and streamed', async (_id, status, body, expected, tries) => {
    for (const stream of [false, true]) {
      const server = await serve({ plays: [json(status, body)] });
      const reply = await server.post(CHAT, { ...start, stream });
      expectRefused(reply, expected, /\w/);
      expect(server.gateway.requests).toHaveLength(tries);
      expect(reply.headers['retry-after']).toBeUndefined();
      expect(reply.headers['x-svc-session-id']).toMatch(/^sess_/);
    }
  });

  it('chat.gateway.silent: a gateway that says nothing is 504 model_timeout', async () => {
    const gateway = await startGateway(() => {});
    onTestFinished(gateway.close);
    const server = await serve({ models: createModels({ gatewayUrl: gateway.url, idleTimeoutMs: 20 }) });
    expectRefused(await server.post(CHAT, start), [504, 'model_timeout', null], /sent nothing/);
  });

  it('chat.turn-timeout: a turn that takes too long is 504 turn_timeout', async () => {
    const server = await serve({ plays: [() => {}], turnLimits: { limitMs: { plain: 30, streamed: 30 } } });
    for (const stream of [false, true]) {
      const reply = await server.post(CHAT, { ...start, stream });
      expectRefused(reply, [504, 'turn_timeout', null], /did not end within 30 ms.*start a new one/);
      const trace = await server.store.trace(String(reply.headers['x-svc-trace-id']));
      expect(trace).toMatchObject({ status: 'failed', error: { code: 'turn_timeout' } });
    }
  });

  it('chat.environment: an environment that fails at setup is 502 environment_failed', async () => {
    const server = await serve();
    const reply = await server.post(CHAT, { messages: HELLO, scenario: 'broken_setup', scenario_args: {} });
    expectRefused(reply, [502, 'environment_failed', null], /broken_setup/);
  });
});

describe('sessions', () => {
  it.each<readonly [id: string, method: string, path: string, expected: Expected]>([
    ['sessions.one.unknown', 'GET', '/v1/sessions/sess_0', [404, 'session_not_found', null]],
    ['sessions.finish.unknown', 'POST', '/v1/sessions/sess_0/finish', [404, 'session_not_found', null]],
    ['sessions.delete.unknown', 'DELETE', '/v1/sessions/sess_0', [404, 'session_not_found', null]],
    ['sessions.list.status', 'GET', '/v1/sessions?status=old', invalid('status')],
    ['sessions.list.twice', 'GET', '/v1/sessions?status=all&status=all', invalid('status')],
    ['sessions.list.method', 'POST', '/v1/sessions', [405, 'method_not_allowed', null]],
    ['sessions.one.method', 'POST', '/v1/sessions/sess_0', [405, 'method_not_allowed', null]],
    ['sessions.finish.method', 'GET', '/v1/sessions/sess_0/finish', [405, 'method_not_allowed', null]],
  ])('%s', async (_id, method, path, expected) => {
    const server = await untouched.server();
    expectRefused(await send(server.url, path, { method }), expected, /\w/);
  });

  it.each<readonly [id: string, request: Send, expected: Expected]>([
    ['sessions.finish.list', { headers: JSON_TYPE, body: '[]' }, invalid(null)],
    ['sessions.finish.null', { headers: JSON_TYPE, body: 'null' }, invalid(null)],
    ['sessions.finish.not-json', { headers: JSON_TYPE, body: '{' }, [400, 'invalid_json', null]],
    [
      'sessions.finish.declared',
      { headers: { 'content-type': 'text/plain' }, body: 'x' },
      [415, 'unsupported_media_type', null],
    ],
  ])('%s: and the session goes on', async (_id, request, expected) => {
    const server = await serve();
    const { session_id } = svcOf(await server.post(CHAT, start));
    const path = `/v1/sessions/${session_id}/finish`;
    expectRefused(await send(server.url, path, { method: 'POST', ...request }), expected, /\w/);
    expect((await server.post(path)).status).toBe(200);
  });

  it('sessions.ended: one that was abandoned or failed is not finished; one that is finished is not abandoned', async () => {
    const server = await serve({ plays: [says('Done.'), says('Done.'), json(400, {})] });
    const finished = svcOf(await server.post(CHAT, start)).session_id;
    const abandoned = svcOf(await server.post(CHAT, start)).session_id;
    const failed = String((await server.post(CHAT, start)).headers['x-svc-session-id']);
    await server.post(`/v1/sessions/${finished}/finish`);
    await server.remove(`/v1/sessions/${abandoned}`);
    const ended: Expected = [409, 'session_finished', null];
    expectRefused(await server.post(`/v1/sessions/${abandoned}/finish`), ended, /is abandoned/);
    expectRefused(await server.post(`/v1/sessions/${failed}/finish`), ended, /is failed/);
    expectRefused(await server.remove(`/v1/sessions/${finished}`), ended, /is finished/);
    expectRefused(await server.remove(`/v1/sessions/${failed}`), ended, /is failed/);
  });
});

describe('a server that shuts down', () => {
  it('http.shutting-down: takes no new work, answers what it can read, and lets the turn that runs end', async () => {
    const held = holdRequest();
    const server = await serve({ plays: [calls(['increment', { by: 1 }]), held.play], shutdownGraceMs: 10_000 });
    const running = server.post(CHAT, start);
    const response = await held.asked;
    const closing = server.server.close();
    for (const [path, body] of [
      [CHAT, start],
      ['/v1/sessions/sess_0/finish', undefined],
      ['/v1/lifecycle-tools/call', { name: 'scenario_list' }],
    ] as const) {
      const refused = await server.post(path, body);
      expectRefused(refused, [503, 'shutting_down', null], /shutting down/);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    }
    await says('Done.')(response);
    expect((await running).status).toBe(200);
    await closing;
  });
});
