import type { Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { EnvironmentServer, Hub } from 'proctor';
import { describe, expect, it } from 'vitest';
import { serve } from '../../../src/environment/server/serve.ts';
import { until } from '../../until.ts';
import { ENVIRONMENT_MAIN, fixture } from './child.ts';
import { connect, HARNESS, httpTransport, openMemory, serveHttp } from './clients.ts';
import { EventSource } from './event-source.ts';
import { modern, type RawRequest, send } from './raw-http.ts';

const KEY = 'k'.repeat(32);
const AS_HARNESS = { ...HARNESS, 'svc/harness_key': KEY };
const ID = 'io.modelcontextprotocol/subscriptionId';

/** One instance for all, so that the test can change what is served. */
function createNews() {
  return new EnvironmentServer({ name: 'news', version: '2.0.0' })
    .tool('read', {}, () => 'read')
    .resource('news://today', {}, () => 'today')
    .resource('news://key', { audience: 'harness' }, () => 'the answers')
    .prompt('hello', {}, () => 'Hello');
}

function listen(url: string, notifications: object, meta: object = {}): Promise<EventSource> {
  const { headers = {}, body } = modern('subscriptions/listen', { notifications }, meta);
  return EventSource.open(url, headers as Record<string, string>, String(body));
}

/** Lists are compared with what was read before. */
const readLists = async (url: string, meta: object = {}) => {
  for (const list of ['tools/list', 'resources/list', 'prompts/list']) await send(url, modern(list, {}, meta));
};

describe('subscriptions/listen of 2026-07-28', () => {
  it('acknowledges what it will tell of, then tells that and nothing else, under the id of the request', async () => {
    const env = createNews();
    const url = await serveHttp(env);
    const notifications = {
      toolsListChanged: true,
      promptsListChanged: false,
      resourceSubscriptions: ['news://today'],
    };
    const stream = await listen(url, notifications);
    await stream.has(1);
    expect(stream.response.headers['content-type']).toBe('text/event-stream');
    expect(stream.messages[0]).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: {
        notifications: { toolsListChanged: true, resourceSubscriptions: ['news://today'] },
        _meta: { [ID]: 1 },
      },
    });
    await readLists(url);
    env.prompt('bye', {}, () => 'Bye');
    env.tool('write', {}, () => 'written');
    await stream.has(2);
    env.notifyResourceUpdated('news://today');
    await stream.has(3);
    expect(stream.messages.slice(1)).toMatchObject([
      { method: 'notifications/tools/list_changed', params: { _meta: { [ID]: 1 } } },
      { method: 'notifications/resources/updated', params: { uri: 'news://today', _meta: { [ID]: 1 } } },
    ]);
  });

  it('tells an agent nothing of the harness’s, and acknowledges it as it does what does not exist', async () => {
    const env = createNews();
    const url = await serveHttp(env, { harnessKey: KEY });
    const filter = { toolsListChanged: true, resourceSubscriptions: ['news://key', 'news://nope', 'news://today'] };
    const agent = await listen(url, filter, HARNESS);
    const harness = await listen(url, filter, AS_HARNESS);
    await agent.has(1);
    await harness.has(1);
    expect(agent.messages).toEqual(harness.messages);
    await readLists(url, AS_HARNESS);
    env.mount(new Hub('vault', { audience: 'harness' }).tool('open', {}, () => 'gold'));
    await harness.has(2);
    env.notifyResourceUpdated('news://key');
    env.notifyResourceUpdated('news://today');
    await harness.has(4);
    await agent.has(2);
    expect(agent.messages.slice(1)).toMatchObject([{ params: { uri: 'news://today' } }]);
    expect(harness.messages.slice(1)).toMatchObject([
      { method: 'notifications/tools/list_changed' },
      { params: { uri: 'news://key' } },
      { params: { uri: 'news://today' } },
    ]);
  });

  it('ends with an answer when the session does, and at once where there is nothing to tell of', async () => {
    const handle = await serve(createNews(), { transport: 'http', port: 0, report: () => {} });
    const stream = await listen(String(handle.url), { toolsListChanged: true });
    const idle = await listen(String(handle.url), { toolsListChanged: false });
    await idle.ended();
    expect(idle.messages).toMatchObject([
      { params: { notifications: {} } },
      { id: 1, result: { resultType: 'complete' } },
    ]);
    await stream.has(1);
    await handle.close();
    await stream.ended();
    expect(stream.messages[1]).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        resultType: 'complete',
        _meta: { [ID]: 1, 'io.modelcontextprotocol/serverInfo': { name: 'news', version: '2.0.0' } },
      },
    });
  });

  it('keeps its session in use until the client goes', async () => {
    let now = 0;
    const closed: string[] = [];
    const build = () =>
      createNews()
        .initialize(() => {})
        .close(() => void closed.push('closed'));
    const url = await serveHttp(build, { idleTimeoutMs: 20, now: () => now });
    await send(url, modern('tools/call', { name: 'read' }));
    const stream = await listen(url, { toolsListChanged: true });
    await stream.has(1);
    now = 21;
    expect((await send(url, modern('tools/call', { name: 'read' }))).status).toBe(200);
    now = 42;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(closed).toEqual([]);
    stream.cut();
    await until(() => {
      now += 21;
      return closed.length === 1;
    });
  });

  it('refuses a filter that is none, and more streams than a session may have', async () => {
    const url = await serveHttp(createNews());
    const bad: readonly unknown[] = [
      undefined,
      null,
      [],
      { toolsListChanged: 1 },
      { resourceSubscriptions: 'x' },
      { resourceSubscriptions: [1] },
      { resourceSubscriptions: Array(1_001).fill('x') },
    ];
    for (const notifications of bad) {
      const reply = await send(url, modern('subscriptions/listen', { notifications }));
      expect([reply.status, JSON.parse(reply.text)]).toMatchObject([400, { id: 1, error: { code: -32_602 } }]);
    }
    const streams = await Promise.all(Array.from({ length: 64 }, () => listen(url, { toolsListChanged: true })));
    await Promise.all(streams.map((stream) => stream.has(1)));
    const more: RawRequest = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const reply = await send(url, more);
    expect([reply.status, reply.headers['retry-after']]).toEqual([503, '5']);
  });

  const child = {
    command: process.execPath,
    args: [ENVIRONMENT_MAIN, fixture('lifecycle.ts')],
    stderr: 'ignore' as const,
  };
  it.each<[string, (env: EnvironmentServer) => Promise<Transport>]>([
    ['over HTTP', async (env) => httpTransport(await serveHttp(env))],
    ['in memory', async (env) => openMemory(env)],
    ['over stdio', async () => new StdioClientTransport(child)],
  ])('serves the client of the SDK %s', async (where, open) => {
    const env = createNews();
    const client = await connect(await open(env), { mode: 'modern' });
    const heard: string[] = [];
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.push(params.uri));
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['news://today'] });
    expect(subscription.honoredFilter).toMatchObject({ toolsListChanged: true });
    if (where !== 'over stdio') {
      env.notifyResourceUpdated('news://today');
      await until(() => heard.length === 1);
    }
    await subscription.close();
  });
});
