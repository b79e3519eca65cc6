import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { connect, connectV1, httpTransport, serveHttp, textOf } from './clients.ts';
import { createExam } from './exam.ts';
import { initializeBody, openSession, rpc, send } from './raw-http.ts';

const messagesOf = (stream: string) =>
  [...stream.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(String(data)));

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
    const messages = messagesOf(text);
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
    const messages = messagesOf(text);
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
    const messages = messagesOf(text);
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
