import { request } from 'node:http';
import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { serve } from '../../src/mcp/serve.ts';
import { connect, connectV1, HARNESS, httpTransport, serveHttp, textOf, until } from './clients.ts';
import { createExam } from './exam.ts';
import { initializeBody, modern, openSession, type RawRequest, rpc, send } from './raw-http.ts';

const KEY = 'k'.repeat(32);
const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

describe('Streamable HTTP', () => {
  it('serves both eras and the SDK’s first line on one endpoint', async () => {
    const url = await serveHttp(createExam());
    for (const mode of ['legacy', 'modern'] as const) {
      const client = await connect(httpTransport(url), { mode });
      expect(textOf(await client.callTool({ name: 'increment' }))).toBe('{"count":1}');
    }
    const v1 = await connectV1(httpTransport(url));
    expect((await v1.callTool({ name: 'increment' })).structuredContent).toEqual({ count: 1 });
  });

  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])('speaks %s', async (revision) => {
    const url = await serveHttp(createExam());
    const { text, headers } = await send(url, { body: initializeBody(revision) });
    expect(JSON.parse(text).result.protocolVersion).toBe(revision);
    const session = { 'mcp-session-id': String(headers['mcp-session-id']), 'mcp-protocol-version': revision };
    const listed = await send(url, { headers: session, body: rpc('tools/list') });
    expect(listed.headers['content-type']).toBe('application/json');
    expect(JSON.parse(listed.text).result.tools.length).toBeGreaterThan(5);
  });

  it('offers its newest session-based revision to a client that asks for one it does not know', async () => {
    const url = await serveHttp(createExam());
    const { text } = await send(url, { body: initializeBody('1999-01-01') });
    expect(JSON.parse(text).result.protocolVersion).toBe('2025-11-25');
  });

  it('answers in JSON, and as an event stream from the first message for the request on', async () => {
    const url = await serveHttp(createExam());
    const headers = { 'mcp-session-id': await openSession(url) };
    const params = { name: 'steps', arguments: {}, _meta: { progressToken: 't' } };
    const { headers: reply, text } = await send(url, { headers, body: rpc('tools/call', params, 'abc') });
    expect(reply['content-type']).toBe('text/event-stream');
    const messages = [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(String(data)));
    expect(messages.map(({ method, id }) => method ?? id)).toEqual([
      'notifications/progress',
      'notifications/progress',
      'notifications/progress',
      'abc',
    ]);
  });

  it('leaves out progress that a client is too slow to take, never the reply', async () => {
    const url = await serveHttp(createExam());
    const headers = { 'mcp-session-id': await openSession(url) };
    const params = { name: 'flood', _meta: { progressToken: 't' } };
    const { text } = await send(url, { headers, body: rpc('tools/call', params, 'last') });
    const messages = [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(String(data)));
    expect(messages.length).toBeLessThan(5_000);
    expect(messages.at(-1)).toMatchObject({ id: 'last', result: {} });
  });

  it('leaves out log messages when much waits for a client that does not read, never the reply', async () => {
    const environment = new EnvironmentServer({ name: 'loud' }).tool('shout', {}, (_args, { log }) => {
      for (let line = 0; line < 5_000; line += 1) log('x'.repeat(1_000));
    });
    const url = await serveHttp(environment);
    const headers = { 'mcp-session-id': await openSession(url) };
    const { text } = await send(url, { headers, body: rpc('tools/call', { name: 'shout' }, 'last') });
    const messages = [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(String(data)));
    expect(messages.length).toBeGreaterThan(500);
    expect(messages.length).toBeLessThan(2_000);
    expect(messages.at(-1)).toMatchObject({ id: 'last', result: {} });
  });

  it('reports progress of the initialize hook on the stream of initialize', async () => {
    const url = await serveHttp(createExam());
    const { text, headers } = await send(url, { body: initializeBody('2025-11-25', { progressToken: 5 }) });
    expect(headers['mcp-session-id']).toBeDefined();
    expect(text).toContain('"progressToken":5,"progress":90');
    expect(text.indexOf('"progress":90')).toBeLessThan(text.indexOf('"protocolVersion"'));
  });

  it('takes notifications with 202, and batches where the revision has them', async () => {
    const url = await serveHttp(createExam());
    const headers = { 'mcp-session-id': await openSession(url, '2025-03-26') };
    const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect((await send(url, { headers, body: initialized })).status).toBe(202);
    const batch = `[${rpc('ping', {}, 1)},${initialized},${rpc('tools/list', {}, 2)}]`;
    const { status, text } = await send(url, { headers, body: batch });
    expect(status).toBe(200);
    expect(
      JSON.parse(text)
        .map(({ id }: { id: number }) => id)
        .sort(),
    ).toEqual([1, 2]);
  });

  it('keeps requests of two sessions with the same id apart', async () => {
    const url = await serveHttp(createExam());
    const [first, second] = await Promise.all([openSession(url), openSession(url)]);
    const call = (id: string, by: number) =>
      send(url, {
        headers: { 'mcp-session-id': id },
        body: rpc('tools/call', { name: 'increment', arguments: { by } }, 7),
      });
    const replies = await Promise.all([call(first, 1), call(second, 2)]);
    expect(replies.map(({ text }) => JSON.parse(text).result.structuredContent.count)).toEqual([1, 2]);
  });
});

describe('what is refused over HTTP', () => {
  const initialize = initializeBody();
  const refusals: readonly (readonly [string, number, RawRequest])[] = [
    ['a Host that is not allowed', 403, { headers: { host: 'evil.example' }, body: initialize }],
    ['an Origin that is not allowed', 403, { headers: { origin: 'https://evil.example' }, body: initialize }],
    ['the Origin null', 403, { headers: { origin: 'null' }, body: initialize }],
    ['a method that is none', 405, { method: 'PUT', body: initialize }],
    ['an Accept without event streams', 406, { headers: { accept: 'application/json' }, body: initialize }],
    ['an Accept without JSON', 406, { headers: { accept: 'text/event-stream' }, body: initialize }],
    ['a content type that is not JSON', 415, { headers: { 'content-type': 'text/plain' }, body: initialize }],
    ['no content type', 415, { headers: { 'content-type': undefined }, body: initialize }],
    ['a compressed body', 415, { headers: { 'content-encoding': 'gzip' }, body: initialize }],
    ['a body that is not JSON', 400, { body: '{' }],
    ['a body that is not UTF-8', 400, { body: Buffer.from([0x22, 0xff, 0x22]) }],
    ['an empty body', 400, { body: '' }],
    ['JSON that is no message', 400, { body: '{"a":1}' }],
    ['an empty batch', 400, { body: '[]' }],
    [
      'JSON that is nested too deep',
      400,
      { body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${deep(500)}}}` },
    ],
    ['a request outside of a session', 400, { body: rpc('tools/list') }],
    ['a session that is unknown', 404, { headers: { 'mcp-session-id': 'nope' }, body: rpc('tools/list') }],
    ['a revision that is unknown', 400, { headers: { 'mcp-protocol-version': '1999-01-01' }, body: rpc('tools/list') }],
    ['initialize within a session', 400, { headers: { 'mcp-session-id': 'x' }, body: initialize }],
    ['a stream outside of a session', 400, { method: 'GET' }],
    ['a stream of an unknown session', 404, { method: 'GET', headers: { 'mcp-session-id': 'nope' } }],
    ['a stream that is not accepted', 406, { method: 'GET', headers: { accept: 'application/json' } }],
    ['a stream on 2026-07-28', 405, { method: 'GET', headers: { 'mcp-protocol-version': '2026-07-28' } }],
    ['the end of an unknown session', 404, { method: 'DELETE', headers: { 'mcp-session-id': 'nope' } }],
  ];

  it.each(refusals)('%s is a %i with a JSON-RPC error', async (_what, status, raw) => {
    const url = await serveHttp(createExam());
    const reply = await send(url, raw);
    expect(reply.status).toBe(status);
    expect(JSON.parse(reply.text)).toMatchObject({
      jsonrpc: '2.0',
      error: { code: expect.any(Number), message: expect.stringMatching(/\S/) },
    });
    expect(reply.headers['content-type']).toMatch(/^application\/json/);
  });

  it('a refusal answers to the id of its request, where that is known', async () => {
    const url = await serveHttp(createExam());
    expect(JSON.parse((await send(url, { body: rpc('tools/list', {}, 'abc') })).text).id).toBe('abc');
    expect(JSON.parse((await send(url, { body: '{' })).text).id).toBeNull();
  });

  it('a body over the limit is a 413, declared or not', async () => {
    const url = await serveHttp(createExam());
    const body = rpc('ping', { a: 'x'.repeat(12 * 1024 * 1024) });
    expect((await send(url, { body })).status).toBe(413);
    expect((await send(url, { headers: { 'transfer-encoding': 'chunked' }, body })).status).toBe(413);
    expect((await send(url, { body: initializeBody() })).status).toBe(200);
  });

  it('JSON of a million levels is refused and leaves the server standing', async () => {
    const url = await serveHttp(createExam());
    const refused = await send(url, { body: deep(1_000_000) });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('nested more than 200 deep')]);
    expect((await send(url, { body: `{"a":`.repeat(500_000) })).status).toBe(400);
    const call = modern('tools/call', { name: 'echo', arguments: { a: JSON.parse(deep(300)) } });
    expect((await send(url, call)).text).toContain('nested more than 200 deep');
    expect((await send(url, { body: initializeBody() })).status).toBe(200);
  });

  it('a batch is refused where the revision has none, and with initialize in it', async () => {
    const url = await serveHttp(createExam());
    const newer = { 'mcp-session-id': await openSession(url) };
    expect((await send(url, { headers: newer, body: `[${rpc('ping')}]` })).status).toBe(400);
    const older = { 'mcp-session-id': await openSession(url, '2025-03-26') };
    expect((await send(url, { headers: older, body: `[${initializeBody()}]` })).status).toBe(400);
    expect((await send(url, { headers: older, body: `[${rpc('ping')},${rpc('ping')}]` })).status).toBe(400);
  });

  it('a batch of more than a hundred messages is refused, whatever they are', async () => {
    const url = await serveHttp(createExam());
    const headers = { 'mcp-session-id': await openSession(url, '2025-03-26') };
    const batch = (length: number) => `[${Array.from({ length }, (_, id) => rpc('ping', {}, id)).join(',')}]`;
    const most = await send(url, { headers, body: batch(100) });
    expect([most.status, JSON.parse(most.text).length]).toEqual([200, 100]);
    const more = await send(url, { headers, body: batch(101) });
    expect([more.status, JSON.parse(more.text).error]).toMatchObject([400, { code: -32_600 }]);
  });

  it('a port that is in use is an error at start that says so, and whoever has it goes on', async () => {
    const url = await serveHttp(createExam());
    const port = Number(new URL(url).port);
    for (const transport of ['http', 'sse'] as const) {
      await expect(serve(createExam(), { transport, port })).rejects.toThrow(`Port ${port} on 127.0.0.1 is in use`);
    }
    expect((await send(url, { body: initializeBody() })).status).toBe(200);
  });

  it('JSON that is 10,000 deep is refused, and __proto__ is a key like any other', async () => {
    const url = await serveHttp(createExam());
    expect((await send(url, { body: deep(10_000) })).status).toBe(400);
    expect((await send(url, { body: '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"ping"}}' })).status).toBe(400);
    const headers = { 'mcp-session-id': await openSession(url) };
    const body =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"__proto__":{"x":1}}}}';
    expect((await send(url, { headers, body })).status).toBe(200);
    expect((await send(url, { headers: { 'mcp-session-id': '__proto__' }, body: rpc('ping') })).status).toBe(404);
    const handle = modern('tools/list', {}, { 'svc/session_id': '__proto__' });
    expect((await send(url, handle)).status).toBe(404);
    expect(Object.hasOwn(Object.prototype, 'x')).toBe(false);
  });

  it('of 1,001 sessions the one that was used least recently gives way, and the server goes on', async () => {
    let now = 0;
    const url = await serveHttp(createExam(), { now: () => now });
    const ids: string[] = [];
    for (let opened = 0; opened < 1_001; opened += 1) {
      now += 1;
      ids.push(await openSession(url));
    }
    const statusOf = async (id: string | undefined) =>
      (await send(url, { headers: { 'mcp-session-id': id }, body: rpc('ping') })).status;
    expect([await statusOf(ids[0]), await statusOf(ids[1]), await statusOf(ids.at(-1))]).toEqual([404, 200, 200]);
  });

  it('an id that is still in use in the session is refused', async () => {
    const events: string[] = [];
    const url = await serveHttp(createExam(events));
    const headers = { 'mcp-session-id': await openSession(url) };
    const waiting = send(url, { headers, body: rpc('tools/call', { name: 'wait' }, 'same') });
    await until(() => events.includes('waiting'));
    const again = await send(url, { headers, body: rpc('ping', {}, 'same') });
    expect([again.status, JSON.parse(again.text).id]).toEqual([400, 'same']);
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'same' } };
    expect((await send(url, { headers, body: JSON.stringify(cancel) })).status).toBe(202);
    expect((await waiting).text).toBe('');
    await until(() => events.includes('aborted'));
  });

  it('a request without the bearer token, or with a wrong one, is a 401 that says how', async () => {
    const url = await serveHttp(createExam(), { bearerToken: 'secret' });
    for (const authorization of [undefined, 'Bearer wrong', 'secret', 'Basic secret']) {
      const reply = await send(url, { headers: { authorization }, body: initializeBody() });
      expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    }
    const reply = await send(url, { headers: { authorization: 'bEaReR secret' }, body: initializeBody() });
    expect(reply.status).toBe(200);
  });

  it('a path that does not exist is our own JSON error, after Host and key', async () => {
    const url = await serveHttp(createExam(), { bearerToken: 'secret' });
    const authorization = 'Bearer secret';
    for (const path of ['/', '/mcp/', '//mcp', '/nope']) {
      const reply = await send(url, { path, headers: { authorization }, body: initializeBody() });
      expect(reply.status).toBe(404);
      expect(JSON.parse(reply.text).error).toMatchObject({ code: 'unknown_url', type: 'not_found_error', param: null });
      expect(reply.headers['x-request-id']).toMatch(/^req_/);
    }
    expect((await send(url, { path: '/nope', body: '' })).status).toBe(401);
    expect((await send(url, { path: '/nope', headers: { host: 'evil.example', authorization } })).status).toBe(403);
  });

  it('an address that other machines can reach needs a bearer token', async () => {
    await expect(serve(createExam(), { transport: 'http', host: '0.0.0.0', port: 0 })).rejects.toThrow(/bearerToken/);
    await expect(serve(createExam(), { transport: 'http', bearerToken: '', port: 0 })).rejects.toThrow(/empty/);
    const handle = await serve(createExam(), { transport: 'http', host: '0.0.0.0', port: 0, bearerToken: 'x' });
    await handle.close();
  });

  it('what is not an environment, and a transport or a path that is none, are errors at start', async () => {
    await expect(serve({}, { transport: 'http', port: 0 })).rejects.toThrow(/extends EnvironmentServer/);
    await expect(serve(createExam(), { transport: 'pigeon' as 'http' })).rejects.toThrow(/"pigeon"/);
    await expect(serve(createExam(), { transport: 'http', port: 0, path: 'mcp' })).rejects.toThrow(
      /as in \/mcp, got "mcp"/,
    );
  });
});

describe('what is allowed over HTTP', () => {
  it('a loopback Origin, its preflight, and further hosts that were named', async () => {
    const url = await serveHttp(createExam(), { allowedHosts: ['proctor.example'] });
    const origin = 'http://localhost:3000';
    const preflight = await send(url, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-headers': 'mcp-session-id' },
    });
    expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, origin]);
    const reply = await send(url, { headers: { origin }, body: initializeBody() });
    expect(reply.headers['access-control-expose-headers']).toContain('mcp-session-id');
    expect((await send(url, { headers: { host: 'proctor.example' }, body: initializeBody() })).status).toBe(200);
    expect((await send(url, { headers: { accept: '*/*' }, body: initializeBody() })).status).toBe(200);
  });

  it('/readyz without key and from any Host', async () => {
    const url = await serveHttp(createExam(), { bearerToken: 'secret' });
    const ready = await send(url, { method: 'GET', path: '/readyz', headers: { host: 'evil.example' } });
    expect([ready.status, JSON.parse(ready.text)]).toEqual([200, { status: 'ok' }]);
    expect((await send(url, { path: '/readyz', body: '' })).status).toBe(405);
  });

  it('/healthz without key and from any Host', async () => {
    const url = await serveHttp(createExam(), { bearerToken: 'secret' });
    const health = await send(url, { method: 'GET', path: '/healthz', headers: { host: 'evil.example' } });
    expect([health.status, JSON.parse(health.text)]).toEqual([200, { status: 'ok' }]);
    expect((await send(url, { method: 'HEAD', path: '/healthz' })).status).toBe(200);
    expect((await send(url, { path: '/healthz' })).status).toBe(405);
  });
});

describe('/openapi.json', () => {
  it('describes the server, without a key on loopback alone', async () => {
    const get = { method: 'GET', path: '/openapi.json' };
    const local = await send(await serveHttp(createExam(), { bearerToken: 'secret' }), get);
    expect(local.status).toBe(200);
    expect(JSON.parse(local.text)).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'exam', version: '1.2.3' },
      paths: { '/mcp': { post: expect.anything() }, '/healthz': expect.anything() },
    });
    const wide = await serveHttp(createExam(), { host: '0.0.0.0', bearerToken: 'secret' });
    expect((await send(wide, get)).status).toBe(401);
    expect((await send(wide, { ...get, headers: { authorization: 'Bearer secret' } })).status).toBe(200);
  });
});

describe('sessions over HTTP', () => {
  it('end with DELETE, which runs their close hooks', async () => {
    const events: string[] = [];
    const url = await serveHttp(createExam(events));
    const headers = { 'mcp-session-id': await openSession(url) };
    expect((await send(url, { method: 'DELETE', headers })).status).toBe(204);
    expect(events).toEqual(expect.arrayContaining(['close 2', 'close 1']));
    expect((await send(url, { headers, body: rpc('tools/list') })).status).toBe(404);
  });

  it('are aborted in their running requests when they end', async () => {
    const events: string[] = [];
    const url = await serveHttp(createExam(events));
    const headers = { 'mcp-session-id': await openSession(url) };
    const waiting = send(url, { headers, body: rpc('tools/call', { name: 'wait' }, 9) });
    await until(() => events.includes('waiting'));
    await send(url, { method: 'DELETE', headers });
    expect(events).toContain('aborted');
    expect(JSON.parse((await waiting).text)).toMatchObject({ id: 9, error: { message: 'The session has ended' } });
  });

  it('have an id that is told to their client alone, not to author code', async () => {
    const url = await serveHttp(createExam());
    const headers = { 'mcp-session-id': await openSession(url) };
    const { text } = await send(url, { headers, body: rpc('tools/call', { name: 'meta' }) });
    expect(JSON.parse(text).result.structuredContent.session.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(text).not.toContain(headers['mcp-session-id']);
  });

  it('are answered with an error where a stream has begun, too', async () => {
    const events: string[] = [];
    const environment = new EnvironmentServer({ name: 'worker' }).tool('work', {}, async (_args, ctx) => {
      ctx.progress(1);
      events.push('working');
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve(), { once: true }));
    });
    const url = await serveHttp(environment);
    const headers = { 'mcp-session-id': await openSession(url) };
    const call = { name: 'work', _meta: { progressToken: 'p' } };
    const working = send(url, { headers, body: rpc('tools/call', call, 9) });
    await until(() => events.includes('working'));
    await send(url, { method: 'DELETE', headers });
    const messages = (await working).text.split('\n').filter((line) => line.startsWith('data: {'));
    expect(messages.map((line) => JSON.parse(line.slice(6)))).toMatchObject([
      { method: 'notifications/progress' },
      { id: 9, error: { message: 'The session has ended' } },
    ]);
  });

  it('have a cap: idle ones make room, the least recently used first, then it is a 503', async () => {
    let now = 0;
    const events: string[] = [];
    const url = await serveHttp(createExam(events), { maxSessions: 2, now: () => now });
    const open = async () => {
      now += 1;
      return { 'mcp-session-id': await openSession(url) };
    };
    const first = await open();
    const second = await open();
    now += 1;
    expect((await send(url, { headers: first, body: rpc('ping') })).status).toBe(200);
    const third = await open();
    expect((await send(url, { headers: second, body: rpc('ping') })).status).toBe(404);
    const busy = [first, third].map((headers) => send(url, { headers, body: rpc('tools/call', { name: 'wait' }) }));
    await until(() => events.filter((event) => event === 'waiting').length === 2);
    const refused = await send(url, { body: initializeBody() });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    await send(url, { method: 'DELETE', headers: first });
    expect((await send(url, { body: initializeBody() })).status).toBe(200);
    await send(url, { method: 'DELETE', headers: third });
    await Promise.all(busy);
  });

  it('expire when they have been idle, not while a request or a stream is open', async () => {
    let now = 0;
    const events: string[] = [];
    const url = await serveHttp(createExam(events), { idleTimeoutMs: 20, now: () => now });
    const idle = { 'mcp-session-id': await openSession(url) };
    const streaming = { 'mcp-session-id': await openSession(url) };
    const stream = request(url, { headers: { ...streaming, accept: 'text/event-stream' } });
    await new Promise((resolve) => stream.once('response', resolve).end());
    now = 21;
    await until(() => events.includes('close 1'));
    expect((await send(url, { headers: idle, body: rpc('ping') })).status).toBe(404);
    expect((await send(url, { headers: streaming, body: rpc('ping') })).status).toBe(200);
    stream.destroy();
  });

  it('leave nothing behind when initialize fails or its client goes away', async () => {
    const { EnvironmentServer } = await import('proctor');
    const closed: string[] = [];
    let isBroken = true;
    const build = () =>
      new EnvironmentServer({ name: 'e' })
        .initialize(() => {
          if (isBroken) throw new Error('no database');
        })
        .close(() => {
          closed.push('closed');
        });
    const reports: string[] = [];
    const url = await serveHttp(build, { maxSessions: 1, report: (text) => reports.push(text) });
    const failed = await send(url, { body: initializeBody() });
    expect(JSON.parse(failed.text).error.message).toMatch(/^The environment could not be initialized/);
    expect(failed.headers['mcp-session-id']).toBeUndefined();
    expect(reports.join()).toContain('no database');
    await until(() => closed.length === 1);
    isBroken = false;
    expect((await send(url, { body: initializeBody() })).status).toBe(200);
  });

  it('abort the handler when the client disconnects during a request', async () => {
    for (const raw of [modern('tools/call', { name: 'wait' }), undefined]) {
      const events: string[] = [];
      const url = await serveHttp(createExam(events));
      const { headers = {}, body } = raw ?? {
        headers: { 'mcp-session-id': await openSession(url) },
        body: rpc('tools/call', { name: 'wait' }),
      };
      const outgoing = request(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', accept: '*/*' },
      });
      outgoing.once('error', () => {});
      outgoing.end(body);
      await until(() => events.includes('waiting'));
      outgoing.destroy();
      await until(() => events.includes('aborted'));
    }
  });
});

describe('2026-07-28 over HTTP', () => {
  const harness = { ...HARNESS, 'svc/harness_key': KEY };
  const setup = (target: number, meta: object = {}) =>
    modern(
      'tools/call',
      { name: 'setup', arguments: { name: 'count_to', arguments: { target } } },
      { ...harness, ...meta },
    );

  it('gives every setup that names no session a new one, by a handle', async () => {
    const url = await serveHttp(createExam(), { harnessKey: KEY });
    const handles: string[] = [];
    for (const target of [1, 2]) {
      const { result } = JSON.parse((await send(url, setup(target))).text);
      handles.push(result._meta['svc/session_id']);
    }
    expect(new Set(handles).size).toBe(2);
    const [first, second] = handles.map((handle) => ({ ...harness, 'svc/session_id': handle }));
    const call = async (name: string, args: object, meta: object = {}) =>
      JSON.parse((await send(url, modern('tools/call', { name, arguments: args }, meta))).text).result;
    await call('increment', { by: 2 }, second);
    const grade = { name: 'count_to', arguments: { answer: 'done' } };
    expect((await call('evaluate', grade, first)).structuredContent.reward).toBe(0);
    expect((await call('evaluate', grade, second)).structuredContent.reward).toBe(1);
  });

  it('gives a caller that names none one instance of its own', async () => {
    const url = await serveHttp(createExam());
    const call = modern('tools/call', { name: 'increment', arguments: {} });
    const replies = await Promise.all([send(url, call), send(url, call)]);
    expect(replies.map(({ text }) => JSON.parse(text).result.structuredContent.count).sort()).toEqual([1, 2]);
  });

  it('refuses a session that is unknown, or of the other era', async () => {
    const url = await serveHttp(createExam(), { harnessKey: KEY });
    for (const handle of ['nope', await openSession(url), 7]) {
      const reply = await send(url, modern('tools/list', {}, { 'svc/session_id': handle }));
      expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([404, -32602]);
    }
  });

  it('keeps no session whose setup failed', async () => {
    const events: string[] = [];
    const url = await serveHttp(createExam(events), { harnessKey: KEY });
    const failed = JSON.parse((await send(url, setup(-1))).text);
    expect(failed.result.isError).toBe(true);
    await until(() => events.includes('close 1'));
  });

  it('opens no session for an agent’s setup, which is one of an unknown tool', async () => {
    const url = await serveHttp(createExam(), { harnessKey: KEY, maxSessions: 1 });
    const increment = modern('tools/call', { name: 'increment', arguments: {} });
    await send(url, increment);
    const agents = await send(url, modern('tools/call', { name: 'setup', arguments: { name: 'count_to' } }, HARNESS));
    const unknown = await send(url, modern('tools/call', { name: 'nope', arguments: { name: 'count_to' } }, HARNESS));
    expect(agents.text.replace('setup', 'nope')).toBe(unknown.text);
    expect([agents.status, unknown.status]).toEqual([200, 200]);
    // Another session would have taken the place of the caller's own.
    expect(JSON.parse((await send(url, increment)).text).result.structuredContent).toEqual({ count: 2 });
  });

  it('wants headers that repeat the body', async () => {
    const url = await serveHttp(createExam());
    const call = modern('tools/call', { name: 'increment' });
    for (const headers of [
      { 'mcp-protocol-version': undefined },
      { 'mcp-protocol-version': '2025-11-25' },
      { 'mcp-method': undefined },
      { 'mcp-method': 'tools/list' },
      { 'mcp-name': undefined },
      { 'mcp-name': 'crash' },
    ]) {
      const reply = await send(url, { ...call, headers: { ...call.headers, ...headers } });
      expect([reply.status, JSON.parse(reply.text).error.code, headers]).toEqual([400, -32020, headers]);
    }
    const encoded = `=?base64?${Buffer.from('increment').toString('base64')}?=`;
    expect((await send(url, { ...call, headers: { ...call.headers, 'mcp-name': encoded } })).status).toBe(200);
  });

  it('has no handshake, no ping, and no other revision to come', async () => {
    const url = await serveHttp(createExam());
    for (const method of ['initialize', 'ping', 'nope/nope']) {
      const reply = await send(url, modern(method));
      expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([404, -32601]);
    }
    const later = { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    const call = modern('tools/list', {}, later);
    const reply = await send(url, { ...call, headers: { ...call.headers, 'mcp-protocol-version': '2099-01-01' } });
    expect([reply.status, JSON.parse(reply.text).error]).toMatchObject([
      400,
      { code: -32022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } },
    ]);
    const bare = await send(url, { headers: { 'mcp-protocol-version': '2026-07-28' }, body: rpc('tools/list') });
    expect(bare.status).toBe(400);
  });

  it('describes itself by server/discover, without running the initialize hook', async () => {
    const events: string[] = [];
    const url = await serveHttp(createExam(events));
    const { text } = await send(url, modern('server/discover'));
    expect(JSON.parse(text).result).toMatchObject({ supportedVersions: ['2026-07-28'], instructions: 'Count.' });
    await send(url, modern('tools/list'));
    expect(events).toEqual([]);
    await send(url, modern('tools/call', { name: 'increment' }, { display_width: 640 }));
    expect(events).toEqual(['initialize 640x1080 2026-07-28 undefined']);
  });
});
