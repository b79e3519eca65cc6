import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError, messageOf } from '../../contract/errors.ts';
import { loopSlices } from '../runtime/loop-slices.ts';
import { endWithError, REQUEST_ID_HEADER } from './socket-reply.ts';

/** Gets the connection of a request for a protocol upgrade, and the bytes received after its headers. */
export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export interface HttpListener {
  /** Address without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /**
   * Stops accepting, lets requests finish for `graceMs` milliseconds, then ends every connection. Idle ones end at
   * once. It never rejects and may be called more than once.
   */
  close(graceMs?: number): Promise<void>;
}

/**
 * Serves an app on a host and a port (0: any free one). The responses that the app gets have a request id.
 *
 * @throws Error that says what to do, for a port in use or an address that cannot be bound.
 */
export async function listen(
  app: RequestListener,
  options: {
    readonly host: string;
    readonly port: number;
    /** Default: the app answers upgrade requests like any other. */
    readonly upgrade?: UpgradeListener | undefined;
  },
): Promise<HttpListener> {
  // Node.js would itself refuse a missing Host, or an unknown Expect, without a body. The app answers them instead.
  // Node.js shows only the first of duplicate headers. Joined, a second Host or Authorization matches nothing.
  const serve: RequestListener = (request, response) => {
    if (response.socket === null) closeWith(request.socket, response);
    response.setHeader(REQUEST_ID_HEADER, createRequestId());
    app(request, response);
  };
  const server = createServer({ requireHostHeader: false, joinDuplicateHeaders: true }, serve);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on('checkExpectation', serve);
  server.on('clientError', answerBrokenRequest);
  if (options.upgrade !== undefined) server.on('upgrade', options.upgrade);
  const connections = new Set<Socket>();
  server.on('connection', (socket) => {
    loopSlices.onAccepted();
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  await bind(server, options);
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  let closed: Promise<void> | undefined;
  return {
    url: `http://${toUrlHost(options.host)}:${port}`,
    port,
    close(graceMs = 0) {
      closed ??= closeServer(server, connections, graceMs);
      return closed;
    },
  };
}

/** The id of a request, from a response of `listen`. Ids of clients are not used, because they need not be unique. */
export function requestIdOf(response: ServerResponse): string {
  return String(response.getHeader(REQUEST_ID_HEADER));
}

/** Creates a request id. `randomUUID` uses a pool of random bytes, while `randomBytes` asks the system at each call. */
export function createRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}

/** Pipelined responses that wait for their turn, by connection. */
const QUEUED = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Makes sure that a queued response is closed with its connection. With pipelined requests Node.js closes only the
 * response that is being written; the work for the others would go on forever.
 */
function closeWith(socket: Socket, response: ServerResponse): void {
  const queued = QUEUED.get(socket) ?? openQueue(socket);
  queued.add(response);
  // From here on Node.js closes the response.
  response.once('socket', () => queued.delete(response));
}

/** One listener per connection. Node.js would report one per response as a leak. */
function openQueue(socket: Socket): Set<ServerResponse> {
  const queued = new Set<ServerResponse>();
  QUEUED.set(socket, queued);
  socket.once('close', () => {
    for (const response of queued) {
      response.destroy();
      response.emit('close');
    }
  });
  return queued;
}

/**
 * Milliseconds that an idle connection stays open. This is longer than in clients and proxies (up to a minute), so that
 * none sends a request into a connection that is being closed.
 */
const KEEP_ALIVE_MS = 75_000;

async function bind(server: Server, { host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: host.replace(/^\[(.*)\]$/, '$1'), port }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (cause) {
    throw Object.assign(new Error(reasonOf(cause, host, port)), { code: codeOf(cause) });
  }
}

/** True for the error of `listen` when the port is in use. */
export function isPortTaken(thrown: unknown): thrown is Error {
  return codeOf(thrown) === 'EADDRINUSE';
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function reasonOf(cause: unknown, host: string, port: number): string {
  const code = codeOf(cause);
  if (code === 'EADDRINUSE')
    return `Port ${port} on ${host} is in use: stop what listens there, or choose another port.`;
  if (code === 'EACCES') return `Port ${port} on ${host} is not permitted to this user: choose one above 1023.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `${host} is not an address of this machine.`;
  return `Cannot listen on ${host}:${port}: ${messageOf(cause)}`;
}

async function closeServer(server: Server, connections: ReadonlySet<Socket>, graceMs: number): Promise<void> {
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection kept alive after its last reply would keep the server open.
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'));
  const sweep = setInterval(() => {
    server.closeIdleConnections();
    // Node.js does not count unused connections as idle.
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
  }, 50);
  const deadline = setTimeout(() => {
    server.closeAllConnections();
    // Node.js does not track upgraded connections.
    for (const socket of connections) socket.destroy();
  }, graceMs);
  try {
    await ended;
  } finally {
    clearInterval(sweep);
    clearTimeout(deadline);
  }
}

/** Answers a request that is not valid HTTP, and so never reaches the app, in the same error form. */
function answerBrokenRequest(_error: Error, socket: Duplex): void {
  const problem = 'This is not a valid HTTP request, or its headers are too large.';
  endWithError(socket, new ApiError('invalid_parameter', problem), createRequestId());
}

function toUrlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::' || host === '') return 'localhost';
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
