import { SSEClientTransport, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { SSEClientTransport as SSEClientTransportV1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as StdioClientTransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpClientTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, connectV1 } from '../environment/server/clients.ts';
import { STDIO, type StartedServer, startServer } from './servers.ts';

const TOOLS = ['increment', 'read', 'slow_increment', 'steps', 'next'];
const start = { ...STDIO, args: [...STDIO.args], stderr: 'ignore' as const };
let http: StartedServer;
let sse: StartedServer;

beforeAll(async () => {
  [http, sse] = await Promise.all([startServer('http'), startServer('sse')]);
});
afterAll(async () => {
  await Promise.all([http?.stop(), sse?.stop()]);
});

describe('the client of the SDK', () => {
  const cases: readonly (readonly [string, 'legacy' | 'modern', () => Transport])[] = [
    ['stdio', 'legacy', () => new StdioClientTransport(start)],
    ['stdio', 'modern', () => new StdioClientTransport(start)],
    ['Streamable HTTP', 'legacy', () => new StreamableHTTPClientTransport(new URL(http.url))],
    ['Streamable HTTP', 'modern', () => new StreamableHTTPClientTransport(new URL(http.url))],
    ['HTTP+SSE', 'legacy', () => new SSEClientTransport(new URL(sse.url))],
  ];

  it.each(cases)('uses an environment over %s, %s', async (_transport, mode, open) => {
    const client = await connect(open(), { mode });
    await useEnvironment(client, (onprogress) => client.callTool({ name: 'steps' }, { onprogress }));
    expect((await client.callTool({ name: 'nope' }).catch((error: Error) => error)).toString()).toContain(
      'Unknown tool',
    );
  });
});

describe('the first line of the SDK’s client', () => {
  const cases: readonly (readonly [string, () => unknown])[] = [
    ['stdio', () => new StdioClientTransportV1(start)],
    ['Streamable HTTP', () => new HttpClientTransportV1(new URL(http.url))],
    ['HTTP+SSE', () => new SSEClientTransportV1(new URL(sse.url))],
  ];

  it.each(cases)('uses an environment over %s', async (_transport, open) => {
    const client = await connectV1(open() as Transport);
    await useEnvironment(client, (onprogress) => client.callTool({ name: 'steps' }, undefined, { onprogress }));
    await expect(client.callTool({ name: 'nope' })).rejects.toThrow('Unknown tool');
  });
});

type OnProgress = (progress: { readonly progress: number }) => void;

/** What the clients of both lines are asked in the same words. */
interface AnyClient {
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(call: { name: string; arguments?: Record<string, unknown> }): Promise<Readonly<Record<string, unknown>>>;
  readResource(resource: { uri: string }): Promise<{ readonly contents: unknown }>;
  getPrompt(prompt: { name: string; arguments: Record<string, string> }): Promise<{ readonly messages: unknown }>;
}

/** Lists, calls, reads, gets a prompt, and hears the progress of a call. */
async function useEnvironment(client: AnyClient, callSteps: (onprogress: OnProgress) => Promise<unknown>) {
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(TOOLS);
  const answered = await client.callTool({ name: 'increment', arguments: { by: 3 } });
  expect(answered.content).toEqual([{ type: 'text', text: '3' }]);
  const { contents } = await client.readResource({ uri: 'svc://scenarios' });
  expect(JSON.stringify(contents)).toContain('counter:count_to');
  const { messages } = await client.getPrompt({ name: 'count_to', arguments: { target: '3' } });
  expect(JSON.stringify(messages)).toContain('exactly 3');
  const steps: number[] = [];
  await callSteps(({ progress }) => {
    steps.push(progress);
    void client.callTool({ name: 'next' });
  });
  expect(steps).toEqual([25, 50, 75]);
}
