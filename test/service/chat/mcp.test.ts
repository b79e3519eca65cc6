import type { Client } from '@modelcontextprotocol/client';
import type { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { describe, expect, it } from 'vitest';
import type { TranscriptMessage } from '../../../src/contract/chat.ts';
import { errorBodySchema } from '../../../src/contract/error-shapes.ts';
import { lifecycleToolListSchema, turnAnswerSchema } from '../../../src/contract/lifecycle.ts';
import { type FinishedSession, finishResultSchema, type Svc } from '../../../src/contract/session.ts';
import { PROGRESS_EVERY_MS } from '../../../src/service/chat/mcp-tools.ts';
import { connect, connectV1, errorOf, httpTransport, textOf } from '../../environment/server/clients.ts';
import { initializeBody, openSession, rpc, send } from '../../environment/server/raw-http.ts';
import { calls, type Play, says } from '../../gateway.ts';
import { deferred } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import { createStage } from './fixtures/stage.ts';
import { counting, finishedOf, serve, sessionsOf, svcOf, type TestServer, untilFree } from './server.ts';

interface Report {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}
interface CallOptions {
  readonly onprogress?: (report: Report) => void;
  readonly signal?: AbortSignal;
}
/** A client of whichever line of the SDK. */
interface McpClient {
  readonly client: Client | ClientV1;
  call(name: string, args?: object, options?: CallOptions): Promise<Called>;
}
interface Called {
  readonly content: unknown;
  readonly structuredContent?: unknown;
  readonly isError?: unknown;
}

const CLIENTS = ['v2 legacy', 'v2 modern', 'v1'] as const;
type Kind = (typeof CLIENTS)[number];

async function open(server: TestServer, kind: Kind, headers: Record<string, string> = {}): Promise<McpClient> {
  const transport = httpTransport(`${server.url}/mcp`, headers);
  if (kind === 'v1') {
    const client = await connectV1(transport);
    return {
      client,
      call: async (name, args = {}, options) =>
        (await client.callTool({ name, arguments: { ...args } }, undefined, options)) as Called,
    };
  }
  const client = await connect(transport, { mode: kind === 'v2 modern' ? 'modern' : 'legacy' });
  return { client, call: (name, args = {}, options) => client.callTool({ name, arguments: { ...args } }, options) };
}

const answerOf = ({ structuredContent }: Called) => turnAnswerSchema.parse(structuredContent);

/** Each turn adds one and says so. */
function addsOne(server: () => TestServer): Play {
  return (response) => {
    const messages = server().gateway.requests.at(-1)?.body.messages as TranscriptMessage[];
    const play = messages.at(-1)?.role === 'tool' ? says('Added.') : calls(['increment', {}]);
    return play(response);
  };
}

async function serveAdding(options: Parameters<typeof serve>[0] = {}): Promise<TestServer> {
  const server: TestServer = await serve({ ...options, plays: [addsOne(() => server)] });
  return server;
}

describe.each(CLIENTS)('/mcp with the client %s', (kind) => {
  it('is the four lifecycle tools, and holds a session by them', async () => {
    const server = await serveAdding();
    const { client, call } = await open(server, kind);
    const { tools } = lifecycleToolListSchema.parse((await server.get('/v1/lifecycle-tools')).json);
    const listed = (await client.listTools()).tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema,
    }));
    expect(listed).toEqual(tools.map(({ input_schema: _schema, ...tool }) => tool));
    const scenarios = (await server.get('/scenarios')).json;
    expect((await call('scenario_list')).structuredContent).toEqual(scenarios);
    const { contents } = await client.readResource({ uri: 'svc://scenarios' });
    expect(JSON.parse(textOf({ content: contents }))).toEqual(scenarios);

    const started = await call('scenario_start', { ...counting(2), message: 'Go.' });
    expect(JSON.parse(textOf(started))).toEqual(started.structuredContent);
    const { svc, answer, tool_calls } = answerOf(started);
    expect([answer, tool_calls.map(({ name }) => name), svc.steps]).toEqual(['Added.', ['increment'], 2]);
    const { session_id } = svc;
    const next = await call('scenario_send', { conversation_id: session_id, message: 'More.' });
    expect(answerOf(next).svc).toMatchObject({ session_id, steps: 4 });
    const finished = await call('scenario_finish', { session_id });
    expect(finished.isError ?? false).toBe(false);
    expect(finishResultSchema.strict().parse(finished.structuredContent)).toMatchObject({ reward: 1, session_id });
    expect((await call('scenario_finish', { session_id })).structuredContent).toEqual(finished.structuredContent);
  });

  it('tells what is wrong as a result that programs can read, and knows no other tool', async () => {
    const server = await serve();
    const { client, call } = await open(server, kind);
    const faults = [
      ['scenario_list', { all: true }, 'invalid_parameter', 'all'],
      ['scenario_start', { scenario: 'count_to' }, 'missing_required_parameter', 'scenario_args'],
      ['scenario_start', { ...counting(1), scenario: 'nope' }, 'scenario_not_found', 'scenario'],
      ['scenario_start', { ...counting(1), max_steps: 0 }, 'invalid_parameter', 'max_steps'],
      ['scenario_send', { session_id: 'sess_nope', message: 'Hi.' }, 'session_not_found', null],
      ['scenario_finish', {}, 'missing_required_parameter', 'session_id'],
      ['scenario_start', { scenario: 'broken_setup', scenario_args: {} }, 'environment_failed', null],
    ] as const;
    for (const [name, args, code, param] of faults) {
      const called = await call(name, args);
      const { error } = errorBodySchema.strict().parse(called.structuredContent);
      expect([called.isError, error.code, error.param]).toEqual([true, code, param]);
      expect(textOf(called)).toBe(error.message);
    }
    expect((await errorOf(client.callTool({ name: 'setup', arguments: {} }))).message).toContain('Unknown tool');
  });

  it('reports progress at every step', async () => {
    const server = await serve({
      plays: [calls(['increment', {}]), calls(['read', {}], ['increment', {}]), says('Done.')],
    });
    const { call } = await open(server, kind);
    const reports: Report[] = [];
    await call('scenario_start', counting(2), { onprogress: (report) => reports.push(report) });
    expect(reports.map(({ message }) => message)).toEqual([
      'Step 1: the model answers',
      'Step 1: increment',
      'Step 2: the model answers',
      'Step 2: read',
      'Step 2: increment',
      'Step 3: the model answers',
    ]);
    expect(reports.map(({ progress, total }) => [progress, total])).toEqual(
      reports.map((_report, index) => [index + 1, undefined]),
    );
  });

  it('reports progress while nothing happens, and aborts the turn of a call that is cancelled', async () => {
    expect(PROGRESS_EVERY_MS).toBeLessThan(5_000);
    const stage = createStage();
    const server = await serve({
      environments: new Map([['stage', stage.target]]),
      plays: [says('Ready.'), calls(['wait', {}]), says('Back.')],
      turnLimits: { progressEveryMs: 5 },
    });
    const { call } = await open(server, kind);
    const { session_id } = answerOf(await call('scenario_start', { scenario: 'play', scenario_args: {} })).svc;
    const held = stage.hold('tool');
    const cancelling = new AbortController();
    const isTold = deferred<void>();
    let waiting = 0;
    const onprogress = ({ message }: Report) => {
      if (message === 'Step 2: wait' && ++waiting === 4) isTold.resolve();
    };
    const lost = call('scenario_send', { session_id, message: 'Wait.' }, { signal: cancelling.signal, onprogress });
    const rejection = expect(lost).rejects.toThrow();
    await Promise.all([held.reached, isTold.promise]);
    cancelling.abort();
    await rejection;
    await held.aborted;
    let next: Called;
    do next = await call('scenario_send', { session_id, message: 'Go on.' });
    while (textOf(next).includes('still running'));
    expect(answerOf(next)).toMatchObject({ answer: 'Back.', svc: { session_id, steps: 3 } });
  });
});

describe('/mcp', () => {
  it('ends a session whose first turn was cancelled, and its request to the gateway', async () => {
    const server = await serve({ plays: [() => {}] });
    const { call } = await open(server, 'v2 modern');
    const cancelling = new AbortController();
    const lost = call('scenario_start', counting(1), { signal: cancelling.signal });
    const rejection = expect(lost).rejects.toThrow();
    await server.gateway.asked;
    cancelling.abort();
    await rejection;
    await server.gateway.clientClosed;
    await until(async () => sessionsOf(await server.get('/v1/sessions')).length === 0);
    const [session] = sessionsOf(await server.get('/v1/sessions?status=all'));
    expect(session).toMatchObject({ status: 'failed', turns: 1, steps: 0 });
  });

  it('aborts the turn of a client that ends its MCP session, while the chat session goes on', async () => {
    const stage = createStage();
    const server = await serve({
      environments: new Map([['stage', stage.target]]),
      plays: [says('Ready.'), calls(['wait', {}]), says('Back.')],
    });
    const { session_id } = svcOf(await server.chat('Go.', { scenario: 'play', scenario_args: {} }));
    const held = stage.hold('tool');
    const mcp = await openSession(`${server.url}/mcp`);
    const headers = { 'mcp-session-id': mcp, 'mcp-protocol-version': '2025-11-25' };
    const params = { name: 'scenario_send', arguments: { session_id, message: 'Wait.' } };
    const running = send(`${server.url}/mcp`, { headers, body: rpc('tools/call', params) });
    await held.reached;
    expect((await send(`${server.url}/mcp`, { method: 'DELETE', headers })).status).toBe(204);
    await held.aborted;
    expect((await running).status).toBe(404);
    const next = await untilFree(() => server.chat('Go on.', { thread_id: session_id }));
    expect(svcOf(next)).toMatchObject({ status: 'active', steps: 3 });
  });

  it('asks for the key of the server, and checks Host and Origin before it', async () => {
    const keys = new Map(['one', 'two'].map((key) => [key, { account: 'local', keyId: key, requestsPerMinute: null }]));
    const server = await serve({ verifyKey: async (key) => keys.get(key) });
    const url = `${server.url}/mcp`;
    const ask = async (headers: Record<string, string>) =>
      (await send(url, { headers, body: initializeBody() })).status;
    const authorization = 'Bearer one';
    expect([await ask({}), await ask({ authorization: 'Bearer wrong' }), await ask({ authorization })]).toEqual([
      401, 401, 200,
    ]);
    expect([
      await ask({ authorization, host: 'evil.example' }),
      await ask({ authorization, origin: 'https://evil.example' }),
      await ask({ authorization, origin: 'null' }),
      await ask({ host: 'evil.example' }),
      await ask({ authorization, origin: 'http://localhost:5173' }),
    ]).toEqual([403, 403, 403, 403, 200]);
    const { call } = await open(server, 'v2 legacy', { authorization });
    expect((await call('scenario_list')).isError ?? false).toBe(false);

    const opened = await send(url, { headers: { authorization }, body: initializeBody() });
    const list = (authorized: string) =>
      send(url, {
        headers: { authorization: authorized, 'mcp-session-id': String(opened.headers['mcp-session-id']) },
        body: rpc('tools/list'),
      });
    expect([(await list('Bearer one')).status, (await list('Bearer two')).status]).toEqual([200, 404]);
  });

  it('ends with the server: a call that runs is told so, and open streams are closed', async () => {
    const stage = createStage();
    const server = await serve({
      environments: new Map([['stage', stage.target]]),
      plays: [says('Ready.'), calls(['wait', {}])],
      shutdownGraceMs: 200,
    });
    const { call } = await open(server, 'v2 legacy');
    const { svc } = answerOf(await call('scenario_start', { scenario: 'play', scenario_args: {} }));
    const held = stage.hold('tool');
    const running = call('scenario_send', { session_id: svc.session_id, message: 'Wait.' });
    const mcp = await openSession(`${server.url}/mcp`);
    const isOpen = fetch(`${server.url}/mcp`, { headers: { accept: 'text/event-stream', 'mcp-session-id': mcp } });
    await Promise.all([held.reached, isOpen]);
    const closing = server.close();
    const { isError, structuredContent } = await running;
    expect([isError, structuredContent]).toMatchObject([true, { error: { code: 'shutting_down' } }]);
    await (await isOpen).text();
    await closing;
  });

  it('serves many clients at once, each its own session', async () => {
    const server = await serveAdding();
    const play = async (index: number) => {
      const { call } = await open(server, CLIENTS[index % CLIENTS.length] ?? 'v1');
      const target = index % 2 === 0 ? 2 : 5;
      const { session_id } = answerOf(await call('scenario_start', counting(target))).svc;
      await call('scenario_send', { session_id, message: 'More.' });
      const { structuredContent } = await call('scenario_finish', { session_id });
      return [session_id, finishResultSchema.parse(structuredContent).reward] as const;
    };
    const played = await Promise.all(Array.from({ length: 12 }, (_none, index) => play(index)));
    expect(played.map(([, reward]) => reward)).toEqual(played.map((_played, index) => (index % 2 === 0 ? 1 : 0)));
    expect(new Set(played.map(([id]) => id)).size).toBe(played.length);
    expect(sessionsOf(await server.get('/v1/sessions'))).toEqual([]);
  });
});

/** One way to hold a session. */
interface Surface {
  start(): Promise<Svc>;
  send(id: string): Promise<Svc>;
  finish(id: string): Promise<FinishedSession>;
}

async function surfacesOf(server: TestServer, target: number): Promise<Readonly<Record<string, Surface>>> {
  const over = (call: (name: string, args: object) => Promise<unknown>): Surface => ({
    start: async () => turnAnswerSchema.parse(await call('scenario_start', counting(target))).svc,
    send: async (session_id) =>
      turnAnswerSchema.parse(await call('scenario_send', { session_id, message: 'More.' })).svc,
    finish: async (session_id) => finishResultSchema.parse(await call('scenario_finish', { session_id })),
  });
  const { call } = await open(server, 'v2 legacy');
  return {
    chat: {
      start: async () => svcOf(await server.chat('Go.', counting(target))),
      send: async (id) => svcOf(await server.chat('More.', {}, { 'x-svc-session-id': id })),
      finish: async (id) => finishedOf(await server.post(`/v1/sessions/${id}/finish`)),
    },
    lifecycle: over(async (name, args) => {
      const { json } = await server.post('/v1/lifecycle-tools/call', { name, arguments: args });
      return (json as Called).structuredContent;
    }),
    mcp: over(async (name, args) => (await call(name, args)).structuredContent),
  };
}

describe('a session', () => {
  it('that is started through any surface continues and finishes through any other', async () => {
    const server = await serveAdding();
    const surfaces = Object.entries(await surfacesOf(server, 2));
    // Of each two surfaces, one starts and the other continues, one continues and the other finishes, and so on.
    const paths = surfaces.flatMap((first, a) =>
      surfaces.map((last, b) => ({ first, next: surfaces[(a + b) % surfaces.length] ?? first, last })),
    );
    const played = [];
    for (const { first, next, last } of paths) {
      const { session_id } = await first[1].start();
      const { steps } = await next[1].send(session_id);
      const finished = await last[1].finish(session_id);
      expect(await first[1].finish(session_id)).toEqual(finished);
      played.push([first[0], next[0], last[0], finished.session_id === session_id, steps, finished.reward]);
    }
    expect(played).toEqual(paths.map(({ first, next, last }) => [first[0], next[0], last[0], true, 4, 1]));
    expect(played).toHaveLength(9);
  });
});
