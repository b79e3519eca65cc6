import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import Counter from '../../../../environments/counter/environment.ts';
import { inMemory } from '../../../../src/environment/server/in-memory.ts';
import { type Play, says } from '../../../gateway.ts';
import { createOpenAICompatible, generateText } from '../../../referees/clients/ai-sdk.mjs';
import { ChatOpenAI } from '../../../referees/clients/langchain.mjs';
import { until } from '../../../until.ts';
import { counting, serve, sessionsOf, type TestServer } from '../server.ts';
import { type Cut, startCuttingProxy } from './cutting-proxy.ts';
import { collect, FALLS_SILENT, GO } from './exam.ts';

/** Retries wait, by the clock of the clients. */
const PATIENCE = { timeout: 60_000 } as const;
const MODEL = 'test-model';
const KEY = { 'Idempotency-Key': 'the-same-each-time' };

/** A server behind a bad line, whose environments are counted. */
async function open(cuts: (server: () => TestServer) => readonly Cut[], ...plays: readonly Play[]) {
  const counts = { open: 0, closed: 0 };
  const create = () => {
    counts.open += 1;
    const environment = new Counter();
    environment.close(() => {
      counts.closed += 1;
    });
    return environment;
  };
  const environments = new Map([['counter', inMemory(create)]]);
  const server: TestServer = await serve({ plays, environments });
  const proxy = await startCuttingProxy(
    server.url,
    cuts(() => server),
  );
  await server.get('/scenarios'); // So that the environment that is read for its list is counted no more.
  const before = { ...counts };
  return {
    server,
    proxy,
    baseURL: `${proxy.url}/v1`,
    openEnvironments: () => counts.open - before.open - (counts.closed - before.closed),
    statuses: async () => sessionsOf(await server.get('/v1/sessions?status=all')).map(({ status }) => status),
  };
}

const LOST_TWICE = () => ['answer lost', 'answer lost'] as const;

/** Cuts each of two connections once the gateway was asked on its behalf. */
const CUT_TWICE = (server: () => TestServer): readonly Cut[] =>
  [1, 2].map((count) => ({ when: () => until(() => server().gateway.requests.length >= count) }));

describe('a first turn whose answer is lost on the way, with an Idempotency-Key', PATIENCE, () => {
  it.each([false, true])('is played once for three requests of openai: streamed %s', async (stream) => {
    const { server, proxy, baseURL, statuses } = await open(LOST_TWICE, says('At ', '0.'));
    const client = new OpenAI({ baseURL, apiKey: 'none', logLevel: 'off' });
    const body = { model: MODEL, messages: [{ role: 'user' as const, content: GO }], ...counting(0) };
    const options = { headers: KEY };
    if (stream) {
      const chunks = await collect(await client.chat.completions.create({ ...body, stream }, options));
      expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('At 0.');
    } else {
      const answer = await client.chat.completions.create(body, options);
      expect(answer.choices[0]?.message.content).toBe('At 0.');
    }
    expect(proxy.bodies).toHaveLength(3);
    expect(new Set(proxy.bodies).size).toBe(1);
    expect(server.gateway.requests).toHaveLength(1);
    expect(await statuses()).toEqual(['active']);
  });

  it('is played once for two requests of the AI SDK', async () => {
    const { server, proxy, baseURL, statuses } = await open(() => ['answer lost'], says('At 0.'));
    const model = createOpenAICompatible({ name: 'proctor', baseURL })(MODEL);
    const answer = await generateText({
      model,
      prompt: GO,
      headers: KEY,
      providerOptions: { proctor: counting(0) },
    });
    expect(answer.text).toBe('At 0.');
    expect([proxy.bodies.length, server.gateway.requests.length]).toEqual([2, 1]);
    expect(await statuses()).toEqual(['active']);
  });

  it('is played once for two requests of LangChain', async () => {
    const { server, proxy, baseURL, statuses } = await open(() => ['answer lost'], says('At 0.'));
    const configuration = { baseURL, defaultHeaders: KEY };
    const model = new ChatOpenAI({ model: MODEL, apiKey: 'none', configuration, modelKwargs: counting(0) });
    expect((await model.invoke(GO)).content).toBe('At 0.');
    expect([proxy.bodies.length, server.gateway.requests.length]).toEqual([2, 1]);
    expect(await statuses()).toEqual(['active']);
  });
});

describe('a first turn whose connection is cut while it runs', PATIENCE, () => {
  it.each([
    { key: 'without a key', headers: {} },
    { key: 'with a key', headers: KEY },
  ])('leaves one session and one environment of three requests of openai: $key', async ({ headers }) => {
    const plays = [FALLS_SILENT, FALLS_SILENT, says('At 0.')];
    const { server, proxy, baseURL, openEnvironments, statuses } = await open(CUT_TWICE, ...plays);
    const client = new OpenAI({ baseURL, apiKey: 'none', logLevel: 'off' });
    const messages = [{ role: 'user' as const, content: GO }];
    const answer = await client.chat.completions.create({ model: MODEL, messages, ...counting(0) }, { headers });
    expect(answer.choices[0]?.message.content).toBe('At 0.');
    expect(proxy.bodies).toHaveLength(3);
    await server.gateway.clientClosed;
    await until(() => openEnvironments() === 1);
    expect((await statuses()).toSorted()).toEqual(['active', 'failed', 'failed']);
  });
});
