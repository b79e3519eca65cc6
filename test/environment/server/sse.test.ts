import { SSEClientTransport } from '@modelcontextprotocol/client';
import { SSEClientTransport as SSEClientTransportV1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ServeOptions, serve } from '../../../src/environment/server/serve.ts';
import { until } from '../../until.ts';
import { connect, connectV1, HARNESS, httpTransport } from './clients.ts';
import { EventSource } from './event-source.ts';
import { createExam } from './exam.ts';
import { initializeBody, openSession, type RawRequest, rpc, send } from './raw-http.ts';

const KEY = 'k'.repeat(32);
const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

/** The address of the stream. */
async function serveSse(environment: unknown, options: ServeOptions = {}): Promise<string> {
  const handle = await serve(environment, { report: () => {}, ...options, transport: 'sse', port: 0 });
  onTestFinished(() => handle.close());
  return String(handle.url);
}

/** Opens a stream; gives it and the address for messages. */
async function openStream(url: string, headers: Record<string, string> = {}) {
  const stream = await EventSource.open(url, headers);
  await until(() => stream.events.length > 0);
  return { stream, messages: new URL(String(stream.events[0]?.data), url).href };
}

describe('the transport sse', () => {
  it('serves the clients of both lines of the SDK, with progress, and Streamable HTTP beside it', async () => {
    let goOn = () => {};
    const environment = () =>
      createExam()().tool('walk_on', {}, async (_args, { progress }) => {
        for (const step of [10, 50]) {
          const seen = new Promise<void>((resolve) => {
            goOn = resolve;
          });
          progress(step);
          await seen;
        }
      });
    const url = await serveSse(environment);
    expect(url).toMatch(/\/sse$/);
    const steps: number[] = [];
    const onprogress = ({ progress }: { readonly progress: number }) => {
      steps.push(progress);
      goOn();
    };
    const client = await connect(new SSEClientTransport(new URL(url)));
    await client.callTool({ name: 'walk_on' }, { onprogress });
    const v1 = await connectV1(new SSEClientTransportV1(new URL(url)));
    await v1.callTool({ name: 'walk_on' }, undefined, { onprogress });
    expect(steps).toEqual([10, 50, 10, 50]);
    for (const each of [client, v1]) {
      expect((await each.callTool({ name: 'increment' })).structuredContent).toEqual({ count: 1 });
      expect((await each.listTools()).tools.map(({ name }) => name)).not.toContain('setup');
    }
    const streamable = await connect(httpTransport(url.replace('/sse', '/mcp')), { mode: 'modern' });
    expect((await streamable.callTool({ name: 'increment' })).structuredContent).toEqual({ count: 1 });
  });

  it('tells first where to post messages, takes them with 202, and answers on the stream', async () => {
    const { stream, messages } = await openStream(await serveSse(createExam()));
    expect(stream.response.headers['content-type']).toBe('text/event-stream');
    expect(stream.events[0]).toMatchObject({ event: 'endpoint' });
    expect(messages).toMatch(/\/messages\?session_id=[0-9a-f-]{36}$/);
    const taken = await send(messages, { body: initializeBody('2024-11-05', { progressToken: 'p' }) });
    expect([taken.status, taken.text]).toEqual([202, 'Accepted']);
    await until(() => stream.messages.some(({ id }) => id === 0));
    expect(stream.messages.at(0)).toMatchObject({ method: 'notifications/progress', params: { progressToken: 'p' } });
    expect(stream.messages.at(-1)).toMatchObject({ id: 0, result: { protocolVersion: '2024-11-05' } });
    const batch = `[${rpc('ping', {}, 1)},${rpc('tools/call', { name: 'increment' }, 2)}]`;
    expect((await send(messages, { body: batch })).status).toBe(202);
    await until(() => Array.isArray(stream.messages.at(-1)));
    expect((stream.messages.at(-1) as unknown as { id: number }[]).map(({ id }) => id).sort()).toEqual([1, 2]);
  });

  it('makes a harness of who declares it in initialize and shows the key, and of nobody else', async () => {
    const url = await serveSse(createExam(), { harnessKey: KEY });
    for (const [meta, isHarness] of [
      [{ ...HARNESS, 'svc/harness_key': KEY }, true],
      [{ ...HARNESS, 'svc/harness_key': 'wrong' }, false],
      [HARNESS, false],
    ] as const) {
      const client = await connect(new SSEClientTransport(new URL(url)), { meta });
      expect((await client.listTools()).tools.some(({ name }) => name === 'setup')).toBe(isHarness);
    }
    const keyless = await connect(new SSEClientTransport(new URL(await serveSse(createExam()))), { meta: HARNESS });
    expect((await keyless.listTools()).tools.some(({ name }) => name === 'setup')).toBe(false);
  });

  it('ends a session with its stream: what runs is aborted and its close hooks run', async () => {
    const events: string[] = [];
    const url = await serveSse(createExam(events));
    const { stream, messages } = await openStream(url);
    await send(messages, { body: initializeBody() });
    await stream.has(1);
    await send(messages, { body: rpc('tools/call', { name: 'wait' }, 9) });
    await until(() => events.includes('waiting'));
    stream.cut();
    await until(() => events.includes('aborted') && events.includes('close 1'));
    expect((await send(messages, { body: rpc('ping') })).status).toBe(404);
  });

  it('ends its streams when the server closes', async () => {
    const handle = await serve(createExam(), { transport: 'sse', port: 0 });
    const { stream } = await openStream(String(handle.url));
    await handle.close();
    await stream.ended();
  });

  it('has a cap: a stream on which nobody has spoken makes room, one in use does not', async () => {
    const url = await serveSse(createExam(), { maxSessions: 2 });
    const silent = await openStream(url);
    const { stream, messages } = await openStream(url);
    await send(messages, { body: initializeBody() });
    await stream.has(1);
    const third = await openStream(url);
    await silent.stream.ended();
    await send(third.messages, { body: initializeBody() });
    const refused = await send(url, { method: 'GET' });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    expect((await send(messages, { body: rpc('ping') })).status).toBe(202);
  });

  it('opens and loses 1,001 streams with a cap of 1,000, and goes on', async () => {
    const url = await serveSse(createExam());
    for (let opened = 0; opened < 1_001; opened += 1) (await openStream(url)).stream.cut();
    const { stream, messages } = await openStream(url);
    await send(messages, { body: initializeBody() });
    await stream.has(1);
  });

  it('is there only where it was asked for', async () => {
    const handle = await serve(createExam(), { transport: 'http', port: 0 });
    onTestFinished(() => handle.close());
    for (const path of ['/sse', '/messages']) {
      const reply = await send(String(handle.url), { method: 'GET', path });
      expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([404, 'unknown_url']);
    }
  });
});

describe('what is refused on /sse and /messages', () => {
  const initialize = initializeBody();
  const refusals: readonly (readonly [string, number, RawRequest])[] = [
    ['a Host that is not allowed, on /sse,', 403, { method: 'GET', headers: { host: 'evil.example' } }],
    ['an Origin that is not allowed, on /sse,', 403, { method: 'GET', headers: { origin: 'https://evil.example' } }],
    ['a POST to /sse', 405, { body: initialize }],
    ['an Accept without event streams', 406, { method: 'GET', headers: { accept: 'application/json' } }],
    [
      'a Host that is not allowed, on /messages,',
      403,
      { path: '/messages', headers: { host: 'evil.example' }, body: initialize },
    ],
    ['the Origin null', 403, { path: '/messages', headers: { origin: 'null' }, body: initialize }],
    ['a GET of /messages', 405, { method: 'GET', path: '/messages' }],
    ['a message without session_id', 400, { path: '/messages', body: initialize }],
    ['a message to an unknown session', 404, { path: '/messages?session_id=nope', body: initialize }],
    [
      'a content type that is not JSON',
      415,
      { path: '/messages', headers: { 'content-type': 'text/plain' }, body: initialize },
    ],
    ['a body that is not JSON', 400, { path: '/messages?session_id=nope', body: '{' }],
    ['JSON that is 10,000 deep', 400, { path: '/messages?session_id=nope', body: deep(10_000) }],
    ['a body over 4 MiB', 413, { path: '/messages?session_id=nope', body: 'x'.repeat(4 * 1024 * 1024 + 1) }],
  ];

  it.each(refusals)('%s is a %i with a JSON-RPC error, and the server goes on', async (_what, status, raw) => {
    const url = await serveSse(createExam());
    const reply = await send(url, raw);
    expect([reply.status, JSON.parse(reply.text)]).toMatchObject([
      status,
      { jsonrpc: '2.0', error: { code: expect.any(Number) } },
    ]);
    const { stream, messages } = await openStream(url);
    await send(messages, { body: initialize });
    await stream.has(1);
  });

  it('what is no message, an id that is in use, a batch that the revision does not have', async () => {
    const events: string[] = [];
    const { stream, messages } = await openStream(await serveSse(createExam(events)));
    await send(messages, { body: initialize });
    await stream.has(1);
    await send(messages, { body: rpc('tools/call', { name: 'wait' }, 'same') });
    await until(() => events.includes('waiting'));
    for (const body of ['{"a":1}', rpc('ping', {}, 'same'), `[${rpc('ping')}]`, '[]']) {
      expect((await send(messages, { body })).status).toBe(400);
    }
    expect(
      (
        await send(messages, {
          body: rpc('tools/call', { name: 'echo', arguments: JSON.parse('{"__proto__":{"a":1}}') }, 5),
        })
      ).status,
    ).toBe(202);
    await until(() => stream.messages.some(({ id }) => id === 5));
    expect(Object.hasOwn(Object.prototype, 'a')).toBe(false);
  });

  it('a session of the other transport, in both directions', async () => {
    const url = await serveSse(createExam());
    const { messages } = await openStream(url);
    const id = String(new URL(messages).searchParams.get('session_id'));
    const mcp = url.replace('/sse', '/mcp');
    expect((await send(mcp, { headers: { 'mcp-session-id': id }, body: rpc('ping') })).status).toBe(404);
    expect((await send(mcp, { method: 'DELETE', headers: { 'mcp-session-id': id } })).status).toBe(404);
    const other = await openSession(mcp);
    expect((await send(url, { path: `/messages?session_id=${other}`, body: rpc('ping') })).status).toBe(404);
  });

  it('a request without the bearer token', async () => {
    const url = await serveSse(createExam(), { bearerToken: 'secret' });
    expect((await send(url, { method: 'GET' })).status).toBe(401);
    const { messages } = await openStream(url, { authorization: 'Bearer secret' });
    expect((await send(messages, { body: initialize })).status).toBe(401);
    const taken = await send(messages, { headers: { authorization: 'Bearer secret' }, body: initialize });
    expect(taken.status).toBe(202);
  });
});
