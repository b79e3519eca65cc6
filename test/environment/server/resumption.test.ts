import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { EnvironmentServer } from 'proctor';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../../until.ts';
import { serveHttp } from './clients.ts';
import { EventSource } from './event-source.ts';
import { openSession, rpc, send } from './raw-http.ts';

/** A tool that reports progress, waits to be let go on, reports again and answers. */
function createWorker() {
  const state = { working: 0, aborted: 0, release: () => {} };
  const environment = () =>
    new EnvironmentServer({ name: 'worker' }).tool('work', {}, async (_args, { signal, progress, log }) => {
      progress(1);
      state.working += 1;
      await new Promise<void>((resolve) => {
        state.release = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      if (signal.aborted) state.aborted += 1;
      log('done');
      return 'worked';
    });
  return { state, environment };
}

const WORK = { name: 'work', _meta: { progressToken: 'p' } };

describe('resumption', () => {
  it('lets a request go on without its connection, and gives a client that comes back that stream alone', async () => {
    const { state, environment } = createWorker();
    const url = await serveHttp(environment);
    const headers = { 'mcp-session-id': await openSession(url) };
    const lost = await EventSource.open(url, headers, rpc('tools/call', WORK, 7));
    await lost.has(1);
    expect(lost.events[0]).toMatchObject({ data: '', id: expect.stringMatching(/^\d+-0$/) });
    lost.cut();
    const other = await EventSource.open(url, headers, rpc('tools/call', WORK, 8));
    await other.has(1);
    state.release();
    await other.ended();
    const resumed = await EventSource.open(url, { ...headers, 'last-event-id': String(lost.events.at(-1)?.id) });
    expect([resumed.response.statusCode, state.aborted]).toEqual([200, 0]);
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
    await send(url, { headers, body: JSON.stringify(cancel) });
    await resumed.ended();
    expect([resumed.messages, state.aborted]).toEqual([[], 1]);
  });

  it('replays the rest of a stream whose answer went out while nobody was connected', async () => {
    const { state, environment } = createWorker();
    const url = await serveHttp(environment);
    const headers = { 'mcp-session-id': await openSession(url) };
    const first = await EventSource.open(url, headers, rpc('tools/call', WORK, 7));
    await first.has(1);
    const lastEventId = String(first.events.at(-1)?.id);
    first.cut();
    state.release();
    const resumed = await EventSource.open(url, { ...headers, 'last-event-id': lastEventId });
    await resumed.ended();
    expect(resumed.messages).toMatchObject([
      { method: 'notifications/message', params: { data: 'done' } },
      { id: 7, result: { content: [{ text: 'worked' }] } },
    ]);
    // Whoever has it all is told to ask no more; whoever asks twice is given the same again.
    const all = await send(url, {
      method: 'GET',
      headers: { ...headers, 'last-event-id': String(resumed.events.at(-1)?.id) },
    });
    expect(all.status).toBe(204);
    const again = await EventSource.open(url, { ...headers, 'last-event-id': lastEventId });
    await again.ended();
    expect(again.messages).toEqual(resumed.messages);
  });

  it('cancels a request whose client does not come back in time', async () => {
    const { state, environment } = createWorker();
    const url = await serveHttp(environment, { resumeWindowMs: 10 });
    const headers = { 'mcp-session-id': await openSession(url) };
    const stream = await EventSource.open(url, headers, rpc('tools/call', WORK, 7));
    await stream.has(1);
    stream.cut();
    await until(() => state.aborted === 1);
    // The id is free again, and the session goes on.
    expect((await send(url, { headers, body: rpc('ping', {}, 7) })).status).toBe(200);
  });

  it('answers 400 to an event that it does not know, of another session, or that too much has followed', async () => {
    const environment = new EnvironmentServer({ name: 'loud' }).tool('shout', {}, (_args, { log }) => {
      for (let line = 0; line < 300; line += 1) log(`line ${line}`);
    });
    const url = await serveHttp(() => environment);
    const headers = { 'mcp-session-id': await openSession(url) };
    const stream = await EventSource.open(url, headers, rpc('tools/call', { name: 'shout' }, 1));
    await stream.ended();
    const ids = stream.events.map(({ id }) => String(id));
    const other = { 'mcp-session-id': await openSession(url) };
    const attempts = [
      [headers, 'nope'],
      [headers, '99-1'],
      [headers, '1-999999'],
      [headers, ids[1]],
      [other, ids.at(-2)],
    ] as const;
    for (const [session, id] of attempts) {
      const reply = await send(url, { method: 'GET', headers: { ...session, 'last-event-id': String(id) } });
      expect([reply.status, JSON.parse(reply.text)]).toMatchObject([400, { error: { code: -32_000 } }]);
    }
    const rest = await send(url, { method: 'GET', headers: { ...headers, 'last-event-id': String(ids.at(-2)) } });
    expect([rest.status, rest.text]).toEqual([200, expect.stringContaining('"result"')]);
  });

  it('keeps what a session’s own stream misses, and gives plain answers no ids', async () => {
    const env = new EnvironmentServer({ name: 'news' }).resource('news://today', {}, () => 'today');
    const url = await serveHttp(env);
    const headers = { 'mcp-session-id': await openSession(url) };
    await send(url, { headers, body: rpc('resources/subscribe', { uri: 'news://today' }) });
    const stream = await EventSource.open(url, headers);
    await until(() => stream.events.length === 1);
    env.notifyResourceUpdated('news://today');
    await stream.has(1);
    stream.cut();
    env.notifyResourceUpdated('news://today');
    const resumed = await EventSource.open(url, { ...headers, 'last-event-id': String(stream.events.at(-1)?.id) });
    await resumed.has(1);
    env.notifyResourceUpdated('news://today');
    await resumed.has(2);
    expect(resumed.messages).toMatchObject(Array(2).fill({ method: 'notifications/resources/updated' }));
    const plain = await send(url, { headers, body: rpc('resources/read', { uri: 'news://today' }) });
    expect(plain.headers['content-type']).toBe('application/json');
  });

  it('works for the client of the SDK: a token resumes the call, which runs once', async () => {
    const { state, environment } = createWorker();
    const url = await serveHttp(environment);
    const tokens: string[] = [];
    const transport = new TransportV1(new URL(url));
    const first = new ClientV1({ name: 'first', version: '1' });
    await first.connect(transport as never);
    first.onerror = () => {};
    const call = { method: 'tools/call' as const, params: WORK };
    const lost = first.request(call, CallToolResultSchema, { onresumptiontoken: (token) => tokens.push(token) });
    lost.catch(() => {});
    await until(() => tokens.length > 1);
    const { sessionId, protocolVersion = '' } = transport;
    await transport.close();
    const again = new TransportV1(new URL(url), { sessionId: String(sessionId) });
    again.setProtocolVersion(protocolVersion);
    const second = new ClientV1({ name: 'second', version: '1' });
    await second.connect(again as never);
    onTestFinished(() => second.close());
    const resumed = second.request(call, CallToolResultSchema, { resumptionToken: String(tokens.at(-1)) });
    state.release();
    expect((await resumed).content).toEqual([{ type: 'text', text: 'worked' }]);
    expect([state.working, state.aborted]).toEqual([1, 0]);
  });
});
