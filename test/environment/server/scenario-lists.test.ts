import type { Client } from '@modelcontextprotocol/client';
import { EnvironmentServer, Hub } from 'proctor';
import { describe, expect, it } from 'vitest';
import { connect, connectInMemory, evaluate, HARNESS, httpTransport, serveHttp, setup, textOf } from './clients.ts';
import { EventSource } from './event-source.ts';
import { modern, send } from './raw-http.ts';

const KEY = 'k'.repeat(32);
const AS_HARNESS = { ...HARNESS, 'svc/harness_key': KEY };
/** By which tools a scenario leaves to an agent. */
const SCENARIOS = {
  looking: ['look'],
  watching: ['loo*'],
  moving: ['move'],
  free: undefined,
  everything: ['look', 'move', 'setup', 'nothing'],
} as const;

function createGame() {
  const env = new EnvironmentServer({ name: 'game' });
  env.tool('look', {}, () => 'look');
  env.tool('move', {}, () => 'move');
  env.mount(new Hub('vault', { audience: 'harness' }).tool('open', {}, () => 'gold'));
  for (const [name, tools] of Object.entries(SCENARIOS)) {
    env.scenario(name, tools === undefined ? {} : { tools: [...tools] }, async function* () {
      yield 'Play.';
      return 1;
    });
  }
  const boards: string[] = [];
  env.scenario('broken', { tools: ['look'] }, async function* () {
    if (boards.length === 0) throw new Error('no board');
    yield 'Never.';
    return 1;
  });
  return env;
}

/** Counts how often a client is told that the list of tools has changed. */
function listenTo(client: Client): () => Promise<number> {
  let count = 0;
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    count += 1;
  });
  return async () => {
    // What is told at the end of a turn comes before the answer to what is asked in the next.
    await new Promise((resolve) => setImmediate(resolve));
    await client.listTools();
    return count;
  };
}

const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

describe.each(['legacy', 'modern'] as const)('an agent that starts a scenario by its prompt, on the %s era', (mode) => {
  async function start() {
    const env = createGame();
    const client = await connectInMemory(env, { mode });
    const heard = listenTo(client);
    if (mode === 'modern') await client.listen({ toolsListChanged: true });
    return { env, client, heard, play: (name: string) => client.getPrompt({ name }) };
  }

  it('is told when its tools are fewer, or others', async () => {
    const { client, heard, play } = await start();
    expect(await names(client)).toEqual(['look', 'move']);
    await play('looking');
    expect(await heard()).toBe(1);
    expect(await names(client)).toEqual(['look']);
    await play('moving');
    expect(await heard()).toBe(2);
    expect(await names(client)).toEqual(['move']);
    await play('free');
    expect(await heard()).toBe(3);
    expect(await names(client)).toEqual(['look', 'move']);
  });

  it('is told nothing where its tools are the same', async () => {
    const { heard, play } = await start();
    await play('free');
    await play('everything');
    expect(await heard()).toBe(0);
    await play('looking');
    expect(await heard()).toBe(1);
    await play('watching');
    await play('watching');
    expect(await heard()).toBe(1);
    await expect(play('nothing')).rejects.toThrow('Unknown prompt');
    expect(await heard()).toBe(1);
  });

  it('is told nothing of a scenario that could not be set up', async () => {
    const { heard, play } = await start();
    await expect(play('broken')).rejects.toThrow('failed');
    expect(await heard()).toBe(0);
  });

  it('is told of what is declared meanwhile where the scenario leaves it to the agent', async () => {
    const { env, client, heard, play } = await start();
    await play('watching');
    expect(await heard()).toBe(1);
    env.tool('jump', {}, () => 'jump');
    expect(await heard()).toBe(1);
    env.tool('loop', {}, () => 'loop');
    expect(await heard()).toBe(2);
    expect(await names(client)).toEqual(['look', 'loop']);
  });
});

describe('a harness on a session-based revision', () => {
  it('whose own list no scenario changes, is told nothing', async () => {
    const client = await connectInMemory(createGame(), { meta: HARNESS });
    const heard = listenTo(client);
    const before = await names(client);
    await setup(client, 'looking');
    expect(await names(client)).toEqual(before);
    await evaluate(client, 'looking');
    expect(await heard()).toBe(0);
  });

  it('is told once of a tool that comes with a scenario', async () => {
    const env = createGame();
    const client = await connectInMemory(env, { meta: HARNESS });
    const heard = listenTo(client);
    await setup(client, 'looking');
    env.tool('jump', {}, () => 'jump');
    await evaluate(client, 'looking');
    expect(await heard()).toBe(1);
  });
});

describe('subscriptions/listen of 2026-07-28 in a session where a harness sets up and evaluates', () => {
  async function open() {
    const env = createGame();
    const url = await serveHttp(env, { harnessKey: KEY });
    const call = async (name: string, scenario: string, meta: object) => {
      const args = { name: scenario, arguments: name === 'evaluate' ? { answer: 'x' } : {} };
      const { text } = await send(url, modern('tools/call', { name, arguments: args }, { ...AS_HARNESS, ...meta }));
      return JSON.parse(text).result;
    };
    const first = await call('setup', 'free', {});
    const session = { 'svc/session_id': first._meta['svc/session_id'] };
    await call('evaluate', 'free', session);
    const listen = async (meta: object) => {
      const request = modern('subscriptions/listen', { notifications: { toolsListChanged: true } }, meta);
      const stream = await EventSource.open(url, request.headers as Record<string, string>, String(request.body));
      await stream.has(1);
      return stream;
    };
    /** Sets up and evaluates; then changes what everybody is told of, so that what came before it has come. */
    let markers = 0;
    const run = async (scenario: string) => {
      await call('setup', scenario, session);
      await new Promise((resolve) => setImmediate(resolve));
      await call('evaluate', scenario, session);
      await new Promise((resolve) => setImmediate(resolve));
      await send(url, modern('tools/list', {}, session));
      markers += 1;
      env.tool(`marker_${markers}`, {}, () => '');
    };
    return { listen, run, session };
  }

  const told = { method: 'notifications/tools/list_changed' };

  it('tells agents at its beginning and at its end, and the harness neither', async () => {
    const { listen, run, session } = await open();
    const agent = await listen(session);
    const harness = await listen({ ...AS_HARNESS, ...session });
    const elsewhere = await listen({});
    await run('looking');
    await agent.has(4);
    await harness.has(2);
    await elsewhere.has(2);
    expect(agent.messages.slice(1)).toMatchObject([told, told, told]);
    expect(harness.messages.slice(1)).toMatchObject([told]);
    expect(elsewhere.messages.slice(1)).toMatchObject([told]);
  });

  it.each(['free', 'everything', 'broken'])(
    'tells an agent nothing of %s, which leaves its list as it is',
    async (name) => {
      const { listen, run, session } = await open();
      const agent = await listen(session);
      await run(name);
      await agent.has(2);
      expect(agent.messages).toHaveLength(2);
    },
  );
});

describe('over HTTP on a session-based revision', () => {
  it('an agent is told on the stream of its session, and goes on with the tools that it may use', async () => {
    const client = await connect(httpTransport(await serveHttp(createGame())));
    const heard: string[] = [];
    client.setNotificationHandler('notifications/tools/list_changed', ({ method }) => void heard.push(method));
    // The stream opens some time after the handshake: what nobody listens for is not kept.
    for (let round = 0; heard.length === 0; round += 1) {
      await client.getPrompt({ name: round % 2 === 0 ? 'looking' : 'moving' });
    }
    await client.getPrompt({ name: 'looking' });
    expect(await names(client)).toEqual(['look']);
    expect(textOf(await client.callTool({ name: 'look' }))).toBe('look');
    await expect(client.callTool({ name: 'move' })).rejects.toThrow('Unknown tool: move');
  });
});
