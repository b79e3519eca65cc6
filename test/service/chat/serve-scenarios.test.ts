import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import Counter from '../../../environments/counter/environment.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { type ScenarioEnvironment, serveScenarios } from '../../../src/service/chat/serve-scenarios.ts';
import type { ScenarioServer } from '../../../src/service/chat/start.ts';
import { startAlone } from '../../../src/service/chat/start-alone.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { serveHttp } from '../../environment/server/clients.ts';
import { send } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import createDesk from './fixtures/desk.ts';
import { counting, errorOf, finishedOf, svcOf } from './server.ts';

// Some of these environments are processes, which start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 60_000 });

// What this process was started with must not decide how a test ends.
beforeEach(() => {
  for (const name of ['PROCTOR_GATEWAY_URL', 'OPENAI_BASE_URL', 'OPENAI_API_KEY', 'PROCTOR_APP_URL'])
    vi.stubEnv(name, undefined);
  return () => vi.unstubAllEnvs();
});

const COUNTER_PATH = fileURLToPath(new URL('../../../environments/counter/environment.ts', import.meta.url));
const MEMORY = { store: 'sqlite::memory:', port: 0, model: 'proctor/oracle' } as const;

async function serve(options: Partial<Parameters<typeof serveScenarios>[0]>): Promise<ScenarioServer> {
  const server = await serveScenarios({ ...MEMORY, ...options });
  onTestFinished(() => server.close());
  return server;
}

const post = (url: string, path: string, body: object = {}) =>
  send(url, path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const chat = (url: string, fields: object = counting(2)) =>
  post(url, '/v1/chat/completions', { messages: [{ role: 'user', content: 'Go.' }], ...fields });

describe('serveScenarios takes as an environment', () => {
  const harnessKey = 'harness-key-of-the-counter';
  const command = { command: process.execPath, args: ['--import', 'tsx', COUNTER_PATH] };

  it.each<readonly [what: string, environment: () => ScenarioEnvironment | Promise<ScenarioEnvironment>]>([
    ['a class', () => Counter],
    ['a factory', () => () => new Counter()],
    ['an instance', () => new Counter()],
    ['a command', () => command],
    ['a URL with its harness key', async () => ({ url: await serveHttp(Counter, { harnessKey }), harnessKey })],
    ['the path of a module', () => COUNTER_PATH],
    ['the file: URL of a module', () => pathToFileURL(COUNTER_PATH)],
  ])('%s, whose scenarios are played to their reward', async (_what, toEnvironment) => {
    const { url } = await serve({ environment: await toEnvironment(), warmProcesses: 0 });
    const started = await chat(url);
    expect([started.status, started.text]).toEqual([200, expect.any(String)]);
    const { session_id } = svcOf(started);
    expect(finishedOf(await post(url, `/v1/sessions/${session_id}/finish`))).toMatchObject({ reward: 1 });
  });

  it('a bare URL, whose scenarios it lists, and says what to set where playing them needs the harness key', async () => {
    const bare = await serveHttp(Counter, { harnessKey });
    for (const environment of [bare, new URL(bare)]) {
      const { url } = await serve({ environment });
      expect((await send(url, '/scenarios')).text).toContain('counter:count_to');
      const refused = await chat(url);
      expect(errorOf(refused)).toEqual([502, 'environment_failed', null]);
      expect(refused.text).toContain('PROCTOR_HARNESS_KEY');
      expect(refused.text).not.toContain(harnessKey);
    }
  });

  it('a list of them, which it serves together', async () => {
    const { url } = await serve({ environment: Counter, environments: [createDesk] });
    const { json } = await send(url, '/scenarios');
    const { scenarios } = json as { scenarios: readonly { name: string }[] };
    expect(scenarios.map(({ name }) => name)).toEqual(expect.arrayContaining(['counter:count_to', 'desk:keep']));
  });

  it('nothing that is none, no two of one name, and not none at all', async () => {
    await expect(serve({ environment: { hello: 1 } })).rejects.toThrow(/environment/i);
    await expect(serve({ environments: [Counter, Counter] })).rejects.toThrow('Two of the environments are named');
    await expect(serve({})).rejects.toThrow('serveScenarios needs an environment');
  });
});

describe('serveScenarios', () => {
  it('gives a handle whose url answers until close, which may be called twice', async () => {
    const server = await serve({ environment: Counter });
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    expect((await send(server.url, '/healthz')).status).toBe(200);
    await Promise.all([server.close(), server.close()]);
    await expect(send(server.url, '/healthz')).rejects.toThrow('ECONNREFUSED');
  });

  it('without a gateway refuses to start with a model that needs one, and says what to set', async () => {
    await expect(serve({ environment: Counter, model: 'gpt-5' })).rejects.toThrow('PROCTOR_GATEWAY_URL');
  });

  it('refuses another address than loopback without a key, and a port that is in use, and says what to do', async () => {
    await expect(serve({ environment: Counter, host: '0.0.0.0' })).rejects.toThrow(/apiKey|--api-key/);
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(serve({ environment: Counter, port })).rejects.toThrow(`Port ${port} on 127.0.0.1 is in use`);
  });

  it('with an apiKey asks every request for it', async () => {
    const { url } = await serve({ environment: Counter, apiKey: 'k3y' });
    expect((await send(url, '/scenarios')).status).toBe(401);
    expect((await send(url, '/scenarios', { headers: { authorization: 'Bearer k3y' } })).status).toBe(200);
  });

  it('holds at most maxSessions, and bounds a turn by maxSteps where a session does not say', async () => {
    const create = async () => ({
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'increment', arguments: '{}' } }],
          },
        },
      ],
    });
    const client = { chat: { completions: { create } } };
    const { url } = await serve({ environment: Counter, client, model: 'any', maxSteps: 2, maxSessions: 1 });
    expect(svcOf(await chat(url)).steps).toBe(2);
    expect(errorOf(await chat(url))).toEqual([503, 'capacity_exceeded', null]);
  });

  it('expires a session after sessionTtlMs', async () => {
    const { url } = await serve({ environment: Counter, sessionTtlMs: 20 });
    const { session_id } = svcOf(await chat(url));
    const path = `/v1/sessions/${session_id}`;
    await until(async () => !(await send(url, path)).text.includes('"active"'));
    expect((await send(url, path)).json).toMatchObject({ status: 'expired' });
  });

  it('says the same trace_url in its replies and in the trace, and has the page there, unless another is named', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'proctor-serve-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    for (const appUrl of [undefined, 'https://app.example/']) {
      const store = `sqlite:${join(directory, `${appUrl === undefined}.db`)}`;
      const server = await serve({ environment: Counter, store, ...(appUrl === undefined ? {} : { appUrl }) });
      const { trace_id, trace_url } = svcOf(await chat(server.url));
      const base = appUrl === undefined ? server.url : 'https://app.example';
      expect(trace_url).toBe(`${base}/traces/${trace_id}`);
      // The form to sign in, where a page that does not exist would be 404.
      expect((await send(server.url, `/traces/${trace_id}`)).status).toBe(401);
      await server.close();
    }
  });
});

describe('serveScenarios refuses, and names the option and the way out:', () => {
  const whole = (name: string, range: string) => new RegExp(`^${name} has to be a whole number ${range}, not `);

  it.each<readonly [name: string, range: string, values: readonly unknown[]]>([
    ['sessionTtlMs', 'from 1 to 2147483647', [0, -1, 1.5, Number.NaN, 2 ** 31, Number.POSITIVE_INFINITY, '1800000']],
    ['maxSessions', 'from 1', [0, -1, 2.5, Number.NaN, Number.POSITIVE_INFINITY, '10', null]],
    ['maxSteps', 'from 1 to 500', [0, -1, 501, 1.5, Number.NaN, '5']],
    ['warmProcesses', 'from 0 to 100', [-1, 101, 0.5, Number.NaN, '2']],
    ['shutdownGraceMs', 'from 0 to 2147483647', [-1, Number.NaN, 2 ** 31, '10']],
    ['port', 'from 0 to 65535', [-1, 65_536, 80.5, Number.NaN, '8321']],
  ])('%s', async (name, range, values) => {
    for (const value of values) {
      const refused = serve({ environment: Counter, [name]: value });
      await expect(refused).rejects.toThrow(whole(name, range));
      await expect(refused).rejects.toBeInstanceOf(TypeError);
    }
  });

  it('what would never expire, with the longest time that there is', async () => {
    await expect(serve({ environment: Counter, sessionTtlMs: Number.POSITIVE_INFINITY })).rejects.toThrow(
      'sessionTtlMs has to be a whole number from 1 to 2147483647, not Infinity: 2147483647 ms, 24.8 days, is the longest time that a timer holds.',
    );
  });

  it('and takes the ends of each range', async () => {
    const low = { sessionTtlMs: 2 ** 31 - 1, maxSessions: 1, maxSteps: 500, warmProcesses: 0 };
    const { url } = await serve({ environment: Counter, ...low });
    const { session_id } = svcOf(await chat(url));
    // A timer that is too long for Node.js would have fired by now.
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await send(url, `/v1/sessions/${session_id}`)).json).toMatchObject({ status: 'active' });
  });
});

it('the trace in the store of a server that stands alone has the address that its replies have', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'proctor-alone-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const database = await openDatabase(`sqlite:${join(directory, 'proctor.db')}`);
  onTestFinished(() => database.close());
  for (const appUrl of [undefined, 'https://app.example']) {
    const { server, store } = await startAlone({
      environments: new Map([['counter', inMemory(Counter)]]),
      database,
      models: createModels({}),
      model: 'proctor/oracle',
      host: '127.0.0.1',
      port: 0,
      appUrl,
      logger: pino({ level: 'silent' }),
    });
    const { trace_id, trace_url } = svcOf(await chat(server.url));
    expect(trace_url).toBe(`${appUrl ?? server.url}/traces/${trace_id}`);
    expect((await store.trace(trace_id))?.trace_url).toBe(trace_url);
    await server.close();
  }
});
