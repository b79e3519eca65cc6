import { describe, expect, it } from 'vitest';
import { serve } from '../../../src/environment/server/serve.ts';
import { until } from '../../until.ts';
import { serveHttp } from './clients.ts';
import { createExam } from './exam.ts';
import { initializeBody, modern, openSession, type RawRequest, rpc, send } from './raw-http.ts';

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

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

  it('a client that says more than a thousand things of itself is refused, before a schema takes its time with them', async () => {
    const url = await serveHttp(createExam());
    const wide = (members: number) => ({
      elicitation: Object.fromEntries(Array.from({ length: members }, (_, index) => [`k${index}`, {}])),
    });
    const handshake = (capabilities: object) =>
      rpc('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'raw', version: '1' } });
    const list = (capabilities: object) =>
      modern('tools/list', {}, { 'io.modelcontextprotocol/clientCapabilities': capabilities });
    const refused = [400, expect.stringContaining('capabilities with more than 1000 members')];
    for (const request of [
      { body: handshake(wide(1_000)) },
      list(wide(100_000)),
      { body: `[${handshake(wide(5_000))}]` },
    ]) {
      const { status, text } = await send(url, request);
      expect([status, text]).toEqual(refused);
    }
    for (const request of [{ body: handshake(wide(500)) }, list(wide(500))]) {
      expect((await send(url, request)).status).toBe(200);
    }
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
