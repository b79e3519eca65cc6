import { randomUUID } from 'node:crypto';
import { EnvironmentServer, Hub } from 'proctor';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serve } from '../../../src/environment/server/serve.ts';
import { until } from '../../until.ts';
import {
  type Agent,
  AS_HARNESS,
  KEY,
  modernRequest,
  overRequests,
  overSession,
  type Params,
  serveAdversary,
  shown,
} from './adversary-agents.ts';
import { CORE, tellApart } from './adversary-probes.ts';
import { serveHttp } from './clients.ts';
import { EventSource } from './event-source.ts';
import createAdversary from './fixtures/adversary.ts';
import { initializeBody, openSession, rpc, send } from './raw-http.ts';

const SEED = { name: 'S3CRET_seed', arguments: { S3CRET_depth: 'shallow' } };
const LOUD = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' };

/** The harness on 2026-07-28, in the session of a handle or in that of its caller. */
async function askAsHarness(url: string, method: string, params: Params, handle?: string) {
  const _meta = { ...AS_HARNESS, ...(handle === undefined ? {} : { 'svc/session_id': handle }) };
  const { text } = await send(url, modernRequest(method, { ...params, _meta }));
  return JSON.parse(text).result;
}

/** Sets up the scenario `count` and gives the handle of its session. */
async function setUp(url: string): Promise<string> {
  const call = { name: 'setup', arguments: { name: 'count', arguments: { target: 3 } } };
  return (await askAsHarness(url, 'tools/call', call))._meta['svc/session_id'];
}

const evaluate = (url: string, handle: string) =>
  askAsHarness(
    url,
    'tools/call',
    { name: 'evaluate', arguments: { name: 'count', arguments: { answer: 'x' } } },
    handle,
  );

const inSession = (handle: string) => (params: Params) => ({
  ...params,
  _meta: { ...(params._meta as Params | undefined), 'svc/session_id': handle },
});

describe('a session of somebody else', { timeout: 60_000 }, () => {
  it('is answered as one that never was, where the agent has the name of another kind of session', async () => {
    const url = await serveAdversary();
    const ofHarness = await openSession(url, '2025-11-25', AS_HARNESS);
    const handle = await setUp(url);
    const named = (session: string) => send(url, { headers: { 'mcp-session-id': session }, body: rpc('tools/list') });
    const ended = (session: string) => send(url, { method: 'DELETE', headers: { 'mcp-session-id': session } });
    const opened = (session: string) => send(url, { method: 'GET', headers: { 'mcp-session-id': session } });
    for (const ask of [named, ended, opened]) expect(shown(await ask(handle))).toBe(shown(await ask(randomUUID())));
    const agent = overRequests(url);
    const unknown = await agent.ask('tools/list', inSession(randomUUID())({}));
    for (const name of [ofHarness, '', ofHarness.toUpperCase(), `${handle} `, [handle], { handle }]) {
      expect(await agent.ask('tools/list', { _meta: { 'svc/session_id': name } })).toBe(unknown);
    }
    expect((await evaluate(url, handle)).structuredContent).toMatchObject({ reward: 0 });
  });

  it('shows nothing of its state, its scenario or its name', async () => {
    const url = await serveAdversary();
    const handle = await setUp(url);
    for (const agent of [await overSession(url), overRequests(url)]) {
      const tools = await agent.ask('tools/list');
      expect(tools).toContain('tools_read');
      const said = [tools, await agent.ask('prompts/get', { name: 'count', arguments: { target: '4' } })];
      expect(said[1]).toContain('Count to 4.');
      said.push(await agent.ask('tools/call', { name: 'look' }), await agent.ask('server/discover'));
      expect(said.join()).not.toContain(handle);
      expect(said.join()).not.toContain('Count to 3');
    }
    expect((await evaluate(url, handle)).structuredContent).toMatchObject({ reward: 0, done: true });
  });

  it('makes no harness of an agent that knows its handle, who has the tools of its scenario and cannot end it', async () => {
    const url = await serveAdversary();
    const handle = await setUp(url);
    const agent = overRequests(url);
    expect((await tellApart(agent, CORE, inSession(handle))).differences).toEqual([]);
    const tools = JSON.parse(JSON.parse(await agent.ask('tools/list', inSession(handle)({})))[2]).result.tools;
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(['look', 'sign']);
    const replaced = await agent.ask('prompts/get', inSession(handle)({ name: 'seeded', arguments: { depth: 'x' } }));
    expect(replaced).toContain('The scenario count is active in this session');
    expect((await evaluate(url, handle)).structuredContent).toMatchObject({ reward: 0, done: true });
  });

  it('is named to no code of an author, which might tell an agent', async () => {
    const env = () =>
      new EnvironmentServer({ name: 'echo' })
        .tool('meta', {}, (_args, { meta, session }) => ({ meta, session }))
        .mount(new Hub('setup').tool('seed', {}, (_args, { meta, session }) => ({ meta, session })));
    const url = await serveHttp(env, { harnessKey: KEY });
    const call = (name: string, meta: Params, args = {}) =>
      send(url, modernRequest('tools/call', { name, arguments: args, _meta: { ...meta, other: 1 } }));
    const setup = JSON.parse((await call('setup', AS_HARNESS, { name: 'seed' })).text).result;
    const named = { 'svc/session_id': setup._meta['svc/session_id'] };
    for (const meta of [named, { ...AS_HARNESS, ...named }, { ...AS_HARNESS, ...named, 'svc/audience': 'agent' }]) {
      const { text } = await call('meta', meta);
      expect(JSON.parse(text).result.structuredContent).toMatchObject({ meta: { other: 1 } });
      expect(text).not.toContain(named['svc/session_id']);
    }
    expect(JSON.stringify(setup.structuredContent)).not.toContain(named['svc/session_id']);
  });

  it('keeps its open questions to itself: a requestState is good where it was given, for whom, and for what', async () => {
    const url = await serveAdversary();
    const agent = overRequests(url);
    const stateOf = (answer: string) => JSON.parse(JSON.parse(answer)[2]).result.requestState;
    const answered = (requestState: unknown, params: Params = { name: 'ask' }) => ({
      ...params,
      requestState,
      inputResponses: { who: { action: 'accept', content: { ok: true } } },
    });
    const own = stateOf(await agent.ask('tools/call', { name: 'ask' }));
    const capable = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
    const ofHarness = (
      await send(url, modernRequest('tools/call', { name: 'ask', _meta: { ...AS_HARNESS, ...capable } }))
    ).text;
    const stolen = JSON.parse(ofHarness).result.requestState;
    const refused = await agent.ask('tools/call', answered('made.up'));
    expect(refused).toContain('Invalid or expired requestState');
    const tries: readonly Params[] = [
      answered(stolen),
      answered(own, { name: 'sign' }),
      answered(own, { name: 'ask', arguments: { more: 1 } }),
      answered(`${own}x`),
    ];
    for (const attempt of tries) expect(await agent.ask('tools/call', attempt)).toBe(refused);
    expect(await agent.ask('tools/call', answered(own))).toContain('accept');
    expect(await agent.ask('tools/call', answered(own))).toBe(refused);
  });
});

describe('what a harness does', { timeout: 60_000 }, () => {
  it('reaches no stream of an agent: no log, no progress, no change of what is hidden', async () => {
    const env = createAdversary();
    const options = { transport: 'sse', port: 0, harnessKey: KEY, report: () => {} } as const;
    const handle = await serve(env, options);
    onTestFinished(() => handle.close());
    const url = `${new URL(String(handle.url)).origin}/mcp`;
    const streams = [await listenInSession(url), await listenOverSse(String(handle.url)), await listenModern(url)];

    // It works: a scenario is set up, something is hidden, something hidden changes.
    const harness = await openSession(url, '2025-11-25', AS_HARNESS);
    const headers = { 'mcp-session-id': harness };
    const setup = rpc('tools/call', { name: 'setup', arguments: SEED, _meta: LOUD });
    expect((await send(url, { headers, body: setup })).text).toContain('notifications/message');
    const open = { name: 'vault', arguments: { name: 'S3CRET_open' }, _meta: { ...AS_HARNESS, ...LOUD } };
    expect((await send(url, modernRequest('tools/call', open))).text).toContain('notifications/progress');
    env.mount(new Hub('S3CRET_hub', { audience: 'harness' }).tool('S3CRET_open', {}, () => ''));
    env.resource('exam://S3CRET', { audience: 'harness' }, () => '');
    env.prompt('S3CRET', { audience: 'harness' }, () => '');
    await new Promise((resolve) => setImmediate(resolve));
    for (const uri of ['exam://key', 'exam://S3CRET', 'exam://pages/key', 'vault://functions'])
      env.notifyResourceUpdated(uri);
    await setUp(url);

    // What comes last is for everybody: nothing has come before it.
    env.tool('marker', {}, () => '');
    await until(() => streams.every((heard) => heard().some((method) => method.includes('tools/list_changed'))));
    for (const heard of streams) expect(heard()).toEqual(['notifications/tools/list_changed']);
  });
});

const WATCHED = ['exam://pages/key', 'exam://key', 'vault://functions', 'exam://S3CRET'] as const;

/** What came without being asked for: the methods, with everything else where it tells a secret. */
function unasked(stream: EventSource): () => string[] {
  const told = ({ method, params }: Record<string, unknown>) =>
    JSON.stringify(params ?? {}).includes('S3CRET') ? `${method} ${JSON.stringify(params)}` : String(method);
  return () => stream.messages.filter(({ method }) => method !== undefined && !isReceipt(method)).map(told);
}

function isReceipt(method: unknown): boolean {
  return method === 'notifications/subscriptions/acknowledged';
}

async function listenInSession(url: string): Promise<() => string[]> {
  const headers = { 'mcp-session-id': await openSession(url) };
  const stream = await EventSource.open(url, headers);
  for (const uri of WATCHED) await send(url, { headers, body: rpc('resources/subscribe', { uri }) });
  return unasked(stream);
}

async function listenOverSse(url: string): Promise<() => string[]> {
  const stream = await EventSource.open(url);
  await until(() => stream.events.length > 0);
  const messages = new URL(stream.events[0]?.data ?? '', url).href;
  await send(messages, { body: initializeBody('2024-11-05') });
  await stream.has(1);
  for (const [index, uri] of WATCHED.entries()) {
    await send(messages, { body: rpc('resources/subscribe', { uri }, index + 1) });
    await stream.has(index + 2);
  }
  return unasked(stream);
}

async function listenModern(url: string): Promise<() => string[]> {
  const notifications = {
    toolsListChanged: true,
    resourcesListChanged: true,
    promptsListChanged: true,
    resourceSubscriptions: WATCHED,
  };
  const { headers, body } = modernRequest('subscriptions/listen', { notifications });
  const stream = await EventSource.open(url, headers, body);
  await stream.has(1);
  const agent: Agent = overRequests(url);
  for (const list of ['tools/list', 'resources/list', 'prompts/list']) await agent.ask(list);
  return unasked(stream);
}
