import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { expect, it } from 'vitest';
import { connectMcp, type McpConnectOptions } from '../../../src/environment/mcp-client/connection.ts';
import { toLink } from '../../../src/environment/mcp-client/link.ts';
import { readList } from '../../../src/environment/mcp-client/reading.ts';
import { createLinkedTransports } from '../../../src/environment/server/linked-transports.ts';

type Send = (message: JSONRPCMessage) => void;

/** A server that keeps what it receives and answers by `answer`, after its own handshake. */
async function connectTo(
  answer: (method: string, params: Record<string, unknown>, send: Send) => Record<string, unknown>,
  options: Omit<McpConnectOptions, 'clientInfo'> = {},
) {
  const [transport, server] = createLinkedTransports();
  const received: JSONRPCMessage[] = [];
  const send: Send = (message) => void server.send(message);
  server.onmessage = (message: JSONRPCMessage) => {
    received.push(message);
    if (!('method' in message) || !('id' in message)) return;
    const serverInfo = { name: 'server', version: '1' };
    const handshake = { protocolVersion: '2025-11-25', capabilities: { tools: {}, resources: {} }, serverInfo };
    const isHandshake = message.method === 'initialize';
    const result = isHandshake ? handshake : answer(message.method, message.params ?? {}, send);
    send({ jsonrpc: '2.0', id: message.id, result });
  };
  await server.start();
  const connection = await connectMcp(
    toLink(transport, () => transport.close()),
    { clientInfo: { name: 'test', version: '1' }, ...options },
  );
  return { connection, received };
}

const toError = (words: string) => new Error(`it ${words}`);

it('says what is for the handshake in the handshake alone', async () => {
  const { connection, received } = await connectTo(() => ({}), { handshakeMeta: { 'svc/harness_key': 'secret' } });
  await connection.request('ping', {});
  const texts = received.map((message) => JSON.stringify(message));
  expect(texts.map((text) => text.includes('secret'))).toEqual([true, false, false]);
  expect(received[0]).toMatchObject({ method: 'initialize', params: { _meta: { 'svc/harness_key': 'secret' } } });
  await connection.close();
});

it('hears of a request what comes before its answer, and no log line without measure in depth', async () => {
  const heard: unknown[] = [];
  const deep = JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`) as unknown;
  const { connection } = await connectTo(
    (_method, { _meta }, send) => {
      const { progressToken } = _meta as { readonly progressToken: string };
      const log = (data: unknown) =>
        send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'notice', data } });
      log(deep);
      log({ said: 'hello' });
      send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } });
      return { content: [] };
    },
    { onNotification: { log: (level, text) => heard.push([level, text]) } },
  );
  const onProgress = (progress: object) => heard.push(progress);
  await connection.request('tools/call', { name: 'work', arguments: {} }, { onProgress });
  expect(heard).toEqual([['notice', '{"said":"hello"}'], { progress: 1, total: null, message: null }]);
  await connection.close();
});

it('reads a list to its end, and one that has none up to a limit', async () => {
  const { connection } = await connectTo((method, { cursor = '0' }) => {
    const nextCursor = String(Number(cursor) + 1);
    if (method === 'resources/list') return { resources: [], nextCursor };
    const tools = [{ name: `tool-${cursor}`, inputSchema: { type: 'object' } }];
    return cursor === '2' ? { tools } : { tools, nextCursor };
  });
  const tools = await readList(connection, 'tools', { toError });
  expect(tools.map(({ name }) => name)).toEqual(['tool-0', 'tool-1', 'tool-2']);
  await expect(readList(connection, 'tools', { toError, maxEntries: 2 })).rejects.toThrow('it gave more than 2 tools');
  const endless = 'it gave more than 100 pages of resources and did not end its list';
  await expect(readList(connection, 'resources', { toError })).rejects.toThrow(endless);
  expect(await readList(connection, 'prompts', { toError })).toEqual([]);
  await connection.close();
});
