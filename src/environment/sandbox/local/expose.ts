import { rmSync } from 'node:fs';
import { connect as connectTo, createServer, type Server, type Socket } from 'node:net';
import type { ExposedPort } from '../engine.ts';
import { forwarderCommand, startForwarder } from './forwarder.ts';
import type { Walls } from './walls.ts';

const HOST = '127.0.0.1';

/** Opens an address of this machine that leads to a port of the sandbox, through a socket at `path`. */
export async function expose(port: number, walls: Walls, path: string, signal: AbortSignal): Promise<ExposedPort> {
  const command = walls.onNetwork(forwarderCommand(path, port));
  // Without a network of its own the port is one of this machine.
  if (command === undefined) return { host: HOST, port, close: async () => {} };
  rmSync(path, { force: true });
  const forwarder = await startForwarder(command, signal);
  const clients = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const inside = connectTo({ path, allowHalfOpen: true });
    for (const socket of [client, inside]) {
      clients.add(socket);
      socket.on('error', () => {
        client.destroy();
        inside.destroy();
      });
      socket.once('close', () => clients.delete(socket));
    }
    client.pipe(inside);
    inside.pipe(client);
  });
  const close = async () => {
    forwarder.close();
    for (const client of clients) client.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { host: HOST, port: await listen(server), close };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, HOST, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return address.port;
}
