import { randomBytes } from 'node:crypto';
import * as http from 'node:http';
import type { Socket } from 'node:net';
import type { EgressProxy } from '../engine.ts';
import { EgressGate, type EgressRules } from './egress-gate.ts';
import { forwardRequest } from './forward-request.ts';
import { openTunnel } from './open-tunnel.ts';

export type { Refusal } from './egress-gate.ts';

/** Milliseconds without a byte in either direction after which a connection is closed. */
const IDLE_MS = 10 * 60_000;
/** Connections of one sandbox at once. */
const MAX_CONNECTIONS = 512;

type Place = Parameters<EgressProxy['listen']>[0];

/** A proxy that its maker has to close. */
export interface OpenEgressProxy extends EgressProxy {
  /** Ends all connections and stops listening. */
  close(): Promise<void>;
}

/**
 * Makes the HTTP proxy through which a sandbox with an allow list reaches its destinations, and nothing else. HTTPS goes
 * through `CONNECT`: the name in the TLS handshake has to be the allowed one. A name is resolved once, here, and never
 * to an address that is not public, unless the list names a range with that address. Every refusal is told to
 * `onRefused`. Each sandbox has its own proxy and credential.
 *
 * @throws TypeError for a destination that cannot be read.
 */
export function createEgressProxy(rules: EgressRules): OpenEgressProxy {
  const credential = { name: 'sandbox', password: randomBytes(24).toString('base64url') };
  const gate = new EgressGate(rules, credential);
  const sockets = new Set<Socket>();
  const listening = new Map<string, Promise<http.Server>>();
  let isClosed = false;

  const open = async (place: Place): Promise<http.Server> => {
    const server = http.createServer((request, response) => void forwardRequest(gate, request, response));
    server.maxConnections = MAX_CONNECTIONS;
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.setTimeout(IDLE_MS, () => socket.destroy());
      socket.once('close', () => sockets.delete(socket));
    });
    server.on('connect', (request, socket, head) => void openTunnel(gate, request, socket, head));
    server.on('clientError', (_error, socket) => socket.destroy());
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen('host' in place ? { host: place.host, port: 0 } : { path: place.socketPath }, resolve);
    });
    return server;
  };

  return {
    credential,
    listen: async (place) => {
      if (isClosed) throw new Error('The proxy of this sandbox is closed');
      const key = JSON.stringify(place);
      const server = listening.get(key) ?? open(place);
      listening.set(key, server);
      server.catch(() => listening.delete(key));
      const address = (await server).address();
      return { port: typeof address === 'object' && address !== null ? address.port : 0 };
    },
    close: async () => {
      isClosed = true;
      const servers = await Promise.allSettled(listening.values());
      const closing = servers.map((each) => (each.status === 'fulfilled' ? closeServer(each.value) : undefined));
      for (const socket of sockets) socket.destroy();
      await Promise.all(closing);
    },
  };
}

function closeServer(server: http.Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
