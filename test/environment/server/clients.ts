import {
  Client,
  type RequestOptions,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport as TransportV1 } from '@modelcontextprotocol/sdk/shared/transport.js';
import { onTestFinished } from 'vitest';
import { type InMemoryOptions, openInMemory } from '../../../src/environment/server/in-memory.ts';
import { type ServeOptions, serve } from '../../../src/environment/server/serve.ts';

export const HARNESS = { 'svc/audience': 'harness' } as const;
export const AS_AGENT = { _meta: { 'svc/audience': 'agent' } } as const;

export interface ConnectOptions {
  readonly mode?: 'legacy' | 'modern';
  /** Goes into `_meta` of `initialize`, on 2026-07-28 of every request. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly capabilities?: Record<string, object>;
  readonly onprogress?: RequestOptions['onprogress'];
}

/** A client of the SDK of today, in either era. */
export async function connect(transport: Transport, options: ConnectOptions = {}): Promise<Client> {
  const { mode = 'legacy', meta = {}, capabilities = {}, onprogress } = options;
  addMeta(transport, mode, meta);
  const client = new Client(
    { name: 'tester', version: '1' },
    {
      capabilities,
      enforceStrictCapabilities: false,
      versionNegotiation: { mode: mode === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
    },
  );
  await client.connect(transport, onprogress === undefined ? {} : { onprogress });
  onTestFinished(() => client.close());
  return client;
}

/** A client of the SDK's first line, which ends at 2025-11-25. */
export async function connectV1(transport: Transport, meta: Readonly<Record<string, unknown>> = {}): Promise<ClientV1> {
  addMeta(transport, 'legacy', meta);
  const client = new ClientV1({ name: 'tester-v1', version: '1' });
  await client.connect(transport as TransportV1);
  onTestFinished(() => client.close());
  return client;
}

export interface MemoryOptions extends ConnectOptions, InMemoryOptions {}

export async function connectInMemory(environment: unknown, options: MemoryOptions = {}): Promise<Client> {
  return connect(openMemory(environment, options), options);
}

export function openMemory(environment: unknown, options: InMemoryOptions = {}): Transport {
  const opened = openInMemory(environment, { report: () => {}, ...options });
  onTestFinished(() => opened.close());
  return opened.clientTransport as Transport;
}

export async function serveHttp(environment: unknown, options: ServeOptions = {}): Promise<string> {
  const handle = await serve(environment, { report: () => {}, ...options, transport: 'http', port: options.port ?? 0 });
  onTestFinished(() => handle.close());
  return String(handle.url);
}

export function httpTransport(url: string, headers: Record<string, string> = {}): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
}

function addMeta(transport: Transport, mode: 'legacy' | 'modern', meta: Readonly<Record<string, unknown>>): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (!('method' in message) || (mode === 'legacy' && message.method !== 'initialize')) return send(message, options);
    const params = { ...message.params, _meta: { ...meta, ...message.params?._meta } };
    return send({ ...message, params }, options);
  };
}

/** What a call answers, as text. */
export function textOf(result: { readonly content: unknown }): string {
  return (result.content as readonly { readonly text?: string }[]).map(({ text }) => text ?? '').join('');
}

/** The error that a promise rejects with. */
export async function errorOf(promise: Promise<unknown>): Promise<{ code: unknown; message: string }> {
  try {
    await promise;
  } catch (error) {
    const { code, message } = error as Error & { code: unknown };
    return { code, message };
  }
  throw new Error('It did not reject');
}

/** The first half of a scenario, as a harness calls it. */
export function setup(client: Client, name: string, args: object = {}) {
  return client.callTool({ name: 'setup', arguments: { name, arguments: args } });
}

/** The second half. */
export function evaluate(client: Client, name: string, answer: unknown = 'done') {
  return client.callTool({ name: 'evaluate', arguments: { name, arguments: { answer } } });
}
