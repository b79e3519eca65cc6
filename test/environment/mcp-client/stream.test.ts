import { mkdtemp, rm } from 'node:fs/promises';
import { connect as connectSocket, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvironmentServer } from 'proctor';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectMcp } from '../../../src/environment/mcp-client/connection.ts';
import { readList } from '../../../src/environment/mcp-client/reading.ts';
import { openStream } from '../../../src/environment/mcp-client/stream-transport.ts';
import { EnvironmentHost } from '../../../src/environment/server/environment-host.ts';
import { serveConnection } from '../../../src/environment/server/serve-connection.ts';
import { StdioTransport } from '../../../src/environment/server/stdio/stdio-transport.ts';

const toError = (words: string) => new Error(words);

function createCounter() {
  let count = 0;
  return new EnvironmentServer({ name: 'counter' })
    .tool('add', { description: 'Adds one.' }, () => {
      count += 1;
      return `${count}`;
    })
    .tool('wait', { description: 'Never ends by itself.' }, (_args, { signal }) => {
      return new Promise<string>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
}

/** One process that serves a session on each connection to its socket. */
async function serveSocket() {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-socket-'));
  const path = join(folder, 'host.sock');
  const host = new EnvironmentHost(createCounter, {
    authority: { harnessKey: undefined, isPeerTrusted: false },
    report: () => {},
  });
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    serveConnection(host, new StdioTransport(socket, socket));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    await host.close(1_000);
    await rm(folder, { recursive: true });
  });
  const open = () => openStream(connectSocket(path));
  return { open, sockets };
}

const options = { clientInfo: { name: 'test', version: '1' } };
const add = { name: 'add', arguments: {} };

describe('an MCP client over a stream', () => {
  it('has a session of its own on each connection to one socket', async () => {
    const { open } = await serveSocket();
    const [one, other] = await Promise.all([connectMcp(open(), options), connectMcp(open(), options)]);
    expect((await readList(one, 'tools', { toError })).map(({ name }) => name)).toEqual(['add', 'wait']);
    await one.request('tools/call', add);
    expect(await one.request('tools/call', add)).toMatchObject({ content: [{ text: '2' }] });
    expect(await other.request('tools/call', add)).toMatchObject({ content: [{ text: '1' }] });
    await Promise.all([one.close(), other.close()]);
    expect([one.link.status(), other.link.status()]).toEqual([undefined, undefined]);
  });

  it('says that the other end has closed the connection, and ends the requests that wait', async () => {
    const { open, sockets } = await serveSocket();
    const connection = await connectMcp(open(), options);
    const closed = new Promise<void>((resolve) => {
      connection.onclose = resolve;
    });
    const waiting = connection.request('tools/call', { name: 'wait', arguments: {} }).catch((error: Error) => error);
    await connection.request('ping', {});
    sockets[0]?.end();
    await closed;
    expect(await waiting).toMatchObject({ message: 'Connection closed' });
    expect(connection.link.status()).toBe('closed the connection');
    await expect(connection.request('ping', {})).rejects.toThrow('Not connected');
  });

  it('is refused where nobody listens', async () => {
    const link = openStream(connectSocket(join(tmpdir(), 'proctor-nobody.sock')));
    await expect(connectMcp(link, options)).rejects.toThrow();
    expect(link.status()).toMatch(/^broke the connection \(connect ENOENT/);
  });
});
