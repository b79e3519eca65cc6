import { readFileSync } from 'node:fs';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import { serve } from '../../../src/environment/server/serve.ts';
import { until } from '../../until.ts';
import { startDev } from '../dev/dev-server.ts';
import { createLab } from '../dev/project.ts';
import { openSession as openHostSession, startHost } from '../process/hosts.ts';
import { Child, ENVIRONMENT_MAIN, fixture } from './child.ts';
import { openMemory, serveHttp, setup } from './clients.ts';
import { EventSource } from './event-source.ts';
import createAdversary from './fixtures/adversary.ts';
import { initializeBody, openSession, type RawReply, send } from './raw-http.ts';

/** Of the servers of these tests. No agent ever has it. */
export const KEY = 'the-true-harness-key-of-these-tests';
export const AS_HARNESS = { 'svc/audience': 'harness', 'svc/harness_key': KEY } as const;

export type Params = Readonly<Record<string, unknown>>;

/** A connection of an agent, down to its bytes. */
export interface Agent {
  readonly era: 'legacy' | 'modern';
  /** Asks, and gives all that came of it, in its order: status, headers and body, or every message until the connection is quiet. */
  ask(method: string, params?: Params): Promise<string>;
}

type WaysIn = readonly (readonly [string, (meta?: Params) => Promise<Agent>])[];

/** The ways in that know of messages, and who comes in by them. `meta` goes into `_meta` of the handshake. */
export const DIRECT_WAYS: WaysIn = [
  ['in memory, session-based', (meta) => overMemory('legacy', meta)],
  ['in memory, 2026-07-28', (meta) => overMemory('modern', meta)],
  ['over HTTP, session-based', async (meta) => overSession(await serveAdversary(), meta)],
  ['over HTTP, 2026-07-28', async () => overRequests(await serveAdversary())],
  ['over SSE', overSse],
];

/** The others: a process or a relay in between, and servers without a key. */
export const OTHER_WAYS: WaysIn = [
  ['over stdio, session-based', (meta) => overMessages(startChild(), 'legacy', meta)],
  ['over stdio, 2026-07-28', (meta) => overMessages(startChild(), 'modern', meta)],
  ['in a host, session-based', async (meta) => overMessages(await openHosted(KEY), 'legacy', meta)],
  ['in a host, 2026-07-28', async (meta) => overMessages(await openHosted(KEY), 'modern', meta)],
  ['over HTTP without a key, session-based', async (meta) => overSession(await serveHttp(createAdversary), meta)],
  ['over HTTP without a key, 2026-07-28', async () => overRequests(await serveHttp(createAdversary))],
  ['through proctor dev, session-based', async (meta) => overSession(await startDevServer(), meta)],
  ['through proctor dev, 2026-07-28', async () => overRequests(await startDevServer())],
];

/** The connection of a new session, beside one in the same process whose harness has set it up. */
async function openHosted(key: string): Promise<Transport> {
  const { host } = await startHost({ module: fixture('adversary.ts') });
  const { client } = await openHostSession(host, 'neighbour');
  await setup(client, 'count', { target: 3 });
  return host.connect({ session: 'agent', harnessKey: key });
}

export function serveAdversary(): Promise<string> {
  return serveHttp(createAdversary, { harnessKey: KEY });
}

/** A request of 2026-07-28 as an agent sends it; any name may be in its headers. */
export function modernRequest(method: string, params: Params = {}): { headers: Record<string, string>; body: string } {
  const name = params.name ?? params.uri;
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method };
  return {
    headers: typeof name === 'string' ? { ...headers, 'mcp-name': toHeader(name) } : headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: withEnvelope(params) }),
  };
}

/** What an HTTP server answered, without what differs from one answer to the next, and without the text's own length. */
export function shown({ status, headers, text }: RawReply): string {
  const { date: _date, 'x-request-id': _id, 'content-length': length, ...rest } = headers;
  const hasOddLength = length !== undefined && Number(length) !== Buffer.byteLength(text);
  return JSON.stringify([status, rest, text, ...(hasOddLength ? [length] : [])]);
}

/** A session over HTTP. */
export async function overSession(url: string, meta: Params = {}): Promise<Agent> {
  const session = await openSession(url, '2025-11-25', meta);
  const headers = { 'mcp-session-id': session };
  return {
    era: 'legacy',
    ask: async (method, params = {}) =>
      shown(await send(url, { headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })),
  };
}

/** Requests of 2026-07-28 over HTTP. */
export function overRequests(url: string): Agent {
  return { era: 'modern', ask: async (method, params) => shown(await send(url, modernRequest(method, params))) };
}

function overMemory(era: Agent['era'], meta?: Params): Promise<Agent> {
  return overMessages(openMemory(createAdversary, { harnessKey: KEY }), era, meta);
}

/** Messages on a connection: in memory, or the pipes of a process. */
export async function overMessages(transport: Transport, era: Agent['era'], meta: Params = {}): Promise<Agent> {
  let frames: string[] = [];
  let settle: (() => void) | undefined;
  transport.onmessage = (message: JSONRPCMessage) => {
    if ('id' in message && message.id === 'barrier' && !('method' in message)) settle?.();
    else frames.push(JSON.stringify(message));
  };
  await transport.start();
  const sendMessage = (id: string, method: string, params: Params) =>
    transport.send({ jsonrpc: '2.0', id, method, params: era === 'modern' ? withEnvelope(params) : params });
  const isAnswered = () => frames.some((frame) => frame.includes('"id":"probe"'));
  const ask = async (method: string, params: Params = {}) => {
    frames = [];
    await sendMessage('probe', method, params);
    if (method !== 'subscriptions/listen') await until(isAnswered);
    // Whatever else came of it is there before the answer to another request.
    await new Promise<void>((resolve) => {
      settle = resolve;
      void (era === 'legacy' ? sendMessage('barrier', 'ping', {}) : sendMessage('barrier', 'server/discover', {}));
    });
    return JSON.stringify(frames);
  };
  if (era === 'legacy') {
    await transport.send({ ...JSON.parse(initializeBody('2025-11-25', meta)), id: 'probe' });
    await until(isAnswered);
  }
  return { era, ask };
}

async function overSse(meta: Params = {}): Promise<Agent> {
  const handle = await serve(createAdversary, { transport: 'sse', port: 0, harnessKey: KEY, report: () => {} });
  onTestFinished(() => handle.close());
  const url = String(handle.url);
  const stream = await EventSource.open(url);
  await until(() => stream.events.length > 0);
  const messages = new URL(stream.events[0]?.data ?? '', url).href;
  const post = async (id: string, method: string, params: Params) => {
    const begun = stream.events.length;
    const reply = await send(messages, { body: JSON.stringify({ jsonrpc: '2.0', id, method, params }) });
    await until(() => stream.events.slice(begun).some(({ data }) => data.includes(`"id":"${id}"`)));
    return shown(reply);
  };
  const first = stream.events.length;
  await send(messages, { body: initializeBody('2024-11-05', meta) });
  await until(() => stream.events.length > first);
  return {
    era: 'legacy',
    async ask(method, params = {}) {
      const begun = stream.events.length;
      const reply = await post('probe', method, params);
      await post('barrier', 'ping', {});
      const events = stream.events.slice(begun).filter(({ data }) => !data.includes('"id":"barrier"'));
      return JSON.stringify([reply, events]);
    },
  };
}

function startChild(): Child {
  return new Child([ENVIRONMENT_MAIN, fixture('adversary.ts')], { key: KEY, hasProtocolDescriptor: true });
}

async function startDevServer(): Promise<string> {
  const source = readFileSync(fixture('adversary.ts'), 'utf8');
  return (await startDev(createLab(source))).url;
}

function withEnvelope(params: Params): Params {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    ...(typeof params._meta === 'object' ? params._meta : {}),
  };
  return { ...params, _meta };
}

function toHeader(name: string): string {
  if (/^[\x21-\x7e]+$/.test(name)) return name;
  return `=?base64?${Buffer.from(name, 'utf8').toString('base64')}?=`;
}
