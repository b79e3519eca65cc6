import type { Client } from '@modelcontextprotocol/client';
import { EnvironmentServer, Hub } from 'proctor';
import { describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import { AS_AGENT, connect, connectInMemory, errorOf, HARNESS, httpTransport, serveHttp } from './clients.ts';

/** An environment whose one instance the test holds too. */
function createShared() {
  const env = new EnvironmentServer({ name: 'shared' });
  env.tool('first', {}, () => 'first');
  env.resource('shared://news', {}, () => 'news');
  env.resource('shared://items/{id}', {}, ({ id }) => id);
  env.resource('shared://key', { audience: 'harness' }, () => 'the answers');
  return env;
}

/** What a client is told, by the last word of the notification. */
function listen(client: Client): string[] {
  const heard: string[] = [];
  for (const kind of ['tools', 'resources', 'prompts'] as const) {
    client.setNotificationHandler(`notifications/${kind}/list_changed`, () => void heard.push(kind));
  }
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.push(params.uri));
  return heard;
}

/** Waits for what has been set in motion: a reply comes after the notifications that were sent before it. */
async function settle(client: Client): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  await client.listTools();
}

const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

describe('what an author declares while a session is open', () => {
  it('is there at once, and the client is told which lists have changed', async () => {
    const env = createShared();
    const client = await connectInMemory(env);
    const heard = listen(client);
    env.tool('second', {}, () => 'second');
    expect(await names(client)).toEqual(['first', 'second']);
    await settle(client);
    expect(heard).toEqual(['tools']);
    expect((await client.callTool({ name: 'second' })).content).toEqual([{ type: 'text', text: 'second' }]);
    env.prompt('hello', {}, () => 'Hello');
    env.resource('shared://more', {}, () => 'more');
    await settle(client);
    expect(heard).toEqual(['tools', 'resources', 'prompts']);
  });

  it('is one change where it comes at once', async () => {
    const env = createShared();
    const client = await connectInMemory(env);
    const heard = listen(client);
    for (const name of ['a', 'b', 'c']) env.tool(name, {}, () => name);
    await settle(client);
    expect(heard).toEqual(['tools']);
  });

  it('can be taken back, and what never changed is not told', async () => {
    const env = createShared();
    const client = await connectInMemory(env);
    const heard = listen(client);
    expect(env.removeTool('first')).toBe(true);
    expect(env.removeTool('first')).toBe(false);
    expect(env.removePrompt('nope')).toBe(false);
    expect(await errorOf(client.callTool({ name: 'first' }))).toMatchObject({ message: 'Unknown tool: first' });
    await settle(client);
    expect(heard).toEqual(['tools']);
    expect(env.removeResource('shared://news')).toBe(true);
    await settle(client);
    expect(heard).toEqual(['tools', 'resources']);
    env.tool('passing', {}, () => '');
    env.removeTool('passing');
    await settle(client);
    expect(heard).toEqual(['tools', 'resources']);
  });

  it('refuses a name that is taken, then as before', async () => {
    const env = createShared();
    await connectInMemory(env);
    expect(() => env.tool('first', {}, () => '')).toThrow('already has a tool named "first"');
  });

  it('reaches clients over HTTP on the stream of their session', async () => {
    const env = createShared();
    const client = await connect(httpTransport(await serveHttp(env)));
    const heard = listen(client);
    // The stream opens some time after the handshake: what nobody listens for is not kept.
    let count = 0;
    await until(() => {
      count += 1;
      env.tool(`tool_${count}`, {}, () => '');
      return heard.includes('tools');
    });
  });

  it('ends with the session: the shared instance holds nothing of it', async () => {
    const env = createShared();
    const client = await connectInMemory(env);
    const heard = listen(client);
    await client.close();
    env.tool('late', {}, () => '');
    env.notifyResourceUpdated('shared://news');
    await new Promise((resolve) => setImmediate(resolve));
    expect(heard).toEqual([]);
  });
});

describe('what changes for the harness alone', () => {
  const changeAll = (env: EnvironmentServer) => {
    env.mount(new Hub('vault', { audience: 'harness' }).tool('open', {}, () => 'gold'));
    env.resource('shared://secret', { audience: 'harness' }, () => 'secret');
    env.prompt('grading', { audience: 'harness' }, () => 'Grade it.');
    env.notifyResourceUpdated('shared://key');
  };

  it('is told to a harness', async () => {
    const env = createShared();
    const client = await connectInMemory(env, { meta: HARNESS });
    const heard = listen(client);
    await client.subscribeResource({ uri: 'shared://key' });
    changeAll(env);
    await settle(client);
    expect(heard).toEqual(['shared://key', 'tools', 'resources', 'prompts']);
  });

  it.each(['legacy', 'modern'] as const)('is told to no agent on the %s era', async (mode) => {
    const env = createShared();
    const client = await connectInMemory(env, { mode });
    const heard = listen(client);
    if (mode === 'modern') {
      await client.listen({
        toolsListChanged: true,
        resourcesListChanged: true,
        promptsListChanged: true,
        resourceSubscriptions: ['shared://key', 'shared://news'],
      });
    }
    await client.callTool({ name: 'first' });
    changeAll(env);
    await settle(client);
    expect(heard).toEqual([]);
    if (mode === 'modern') env.notifyResourceUpdated('shared://news');
    env.tool('open', {}, () => 'open');
    await settle(client);
    expect(heard).toEqual(mode === 'modern' ? ['shared://news', 'tools'] : ['tools']);
  });

  it('of a scenario is its functions: the agent is told of the prompt and of the list of scenarios', async () => {
    const env = createShared();
    const client = await connectInMemory(env);
    const heard = listen(client);
    await client.subscribeResource({ uri: 'svc://scenarios' });
    env.scenario('count', {}, async function* () {
      yield 'Count.';
      return 1;
    });
    await settle(client);
    expect(heard).toEqual(['prompts', 'svc://scenarios']);
  });
});

describe('a subscription', () => {
  it('is to one resource, whichever template it comes from, until it is taken back', async () => {
    const env = createShared();
    const client = await connectInMemory(env);
    const heard = listen(client);
    await client.subscribeResource({ uri: 'shared://items/1' });
    for (const uri of ['shared://items/1', 'shared://items/2', 'shared://news']) env.notifyResourceUpdated(uri);
    await settle(client);
    expect(heard).toEqual(['shared://items/1']);
    await client.unsubscribeResource({ uri: 'shared://items/1' });
    env.notifyResourceUpdated('shared://items/1');
    await settle(client);
    expect(heard).toEqual(['shared://items/1']);
  });

  it('to what is hidden is answered exactly as to what is unknown', async () => {
    const client = await connectInMemory(createShared());
    for (const uri of ['shared://key', 'shared://nope', '__proto__', 'setup://functions']) {
      const unknown = { code: -32602, message: `Unknown resource: ${uri}` };
      expect(await errorOf(client.subscribeResource({ uri }))).toEqual(unknown);
      expect(await errorOf(client.unsubscribeResource({ uri }))).toEqual(unknown);
    }
    const harness = await connectInMemory(createShared(), { meta: HARNESS });
    expect((await errorOf(harness.subscribeResource({ uri: 'shared://key', ...AS_AGENT }))).code).toBe(-32602);
  });

  it('is bound in number', async () => {
    const client = await connectInMemory(createShared());
    for (let id = 0; id < 1_000; id += 1) await client.subscribeResource({ uri: `shared://items/${id}` });
    await client.subscribeResource({ uri: 'shared://items/0' });
    const { message } = await errorOf(client.subscribeResource({ uri: 'shared://items/1000' }));
    expect(message).toContain('1000 resources');
  });

  it('says to the log where there is no such resource', async () => {
    const env = createShared();
    const reports: string[] = [];
    await connectInMemory(env, { report: (text) => reports.push(text) });
    env.notifyResourceUpdated('shared://nope');
    expect(reports).toEqual(['notifyResourceUpdated: there is no resource shared://nope']);
  });
});
