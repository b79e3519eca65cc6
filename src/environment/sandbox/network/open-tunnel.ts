import type { IncomingMessage } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { messageOf } from '../../../contract/errors.ts';
import { canonicalHost } from './allow-list.ts';
import { MAX_HELLO_BYTES, readServerName } from './client-hello.ts';
import type { EgressGate, OpenDestination } from './egress-gate.ts';

export const CONNECT_MS = 30_000;
const HELLO_MS = 30_000;
const TLS_PORT = 443;
const HTTP_PORT = 80;
const FIRST_TLS_BYTE = 22;

/** Answers a `CONNECT`. Never rejects: each end is an answer to the client, or a closed connection. */
export async function openTunnel(
  gate: EgressGate,
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
): Promise<void> {
  client.on('error', () => client.destroy());
  if (!gate.hasCredential(request.headers['proxy-authorization'])) {
    return answer(client, '407 Proxy Authentication Required', 'Use the proxy variables of this sandbox.', [
      'Proxy-Authenticate: Basic realm="sandbox"',
    ]);
  }
  const target = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(request.url ?? '');
  if (target === null) return answer(client, '400 Bad Request', 'CONNECT takes host:port.');
  const [, host = '', port = ''] = target;
  const destination = await gate.open(host, Number(port));
  if (destination === undefined) {
    return answer(client, '403 Forbidden', `${host}:${port} is not reachable from this sandbox.`);
  }
  let upstream: Socket;
  try {
    upstream = await dial(destination, client);
  } catch (error) {
    return answer(client, '502 Bad Gateway', `${host}:${port}: ${messageOf(error)}`);
  }
  const end = () => {
    client.destroy();
    upstream.destroy();
  };
  for (const side of [client, upstream]) {
    side.on('error', end);
    side.once('close', end);
  }
  client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  // A server of another protocol than TLS may speak first. The client's own bytes are checked before any is passed on.
  upstream.pipe(client);
  const first = await firstBytes(client, head, destination);
  if (first === undefined || !isRightName(gate, destination, first)) return end();
  upstream.write(first);
  client.pipe(upstream);
}

/** Connects to the address that the gate gave. @throws Error if that fails, or takes too long, or the client goes. */
export function dial({ address, port }: OpenDestination, client: Duplex): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, allowHalfOpen: true });
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    const onGone = () => fail(new Error('the client closed the connection'));
    client.once('close', onGone);
    socket.setTimeout(CONNECT_MS, () => fail(new Error(`no connection within ${CONNECT_MS / 1_000} s`)));
    socket.once('error', fail);
    socket.once('connect', () => {
      client.off('close', onGone);
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

/** The bytes that a client sends first: all of a ClientHello. Undefined if it sends none, or more than one can have. */
function firstBytes(client: Duplex, head: Buffer, { port }: OpenDestination): Promise<Buffer | undefined> {
  let bytes = head;
  const isWhole = () => bytes.length > 0 && (bytes[0] !== FIRST_TLS_BYTE || readServerName(bytes) !== 'more');
  if (isWhole()) return Promise.resolve(bytes);
  return new Promise((resolve) => {
    const settle = (result: Buffer | undefined) => {
      clearTimeout(timer);
      client.off('data', onData);
      client.off('close', onClose);
      client.pause();
      resolve(result);
    };
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (isWhole()) settle(bytes);
      else if (bytes.length > MAX_HELLO_BYTES) settle(undefined);
    };
    const onClose = () => settle(undefined);
    // The time without any byte is limited by the proxy, for all its connections.
    const timer = port === TLS_PORT ? setTimeout(onClose, HELLO_MS) : undefined;
    client.on('data', onData);
    client.once('close', onClose);
  });
}

/** False, and a refusal that was told, if a TLS client asks for another host than the one it was let through for. */
function isRightName(gate: EgressGate, destination: OpenDestination, hello: Buffer): boolean {
  const { host, port } = destination;
  const isTls = hello[0] === FIRST_TLS_BYTE;
  // A plain request to a web server names its host in a header that nobody checks here: it goes through the other way.
  if (!isTls && port !== TLS_PORT && port !== HTTP_PORT) return true;
  const asked = isTls ? readServerName(hello) : 'none';
  if (typeof asked === 'object') {
    if (isIP(host) !== 0 || canonicalHost(asked.name) === host) return true;
    gate.refuse(asked.name, port, `was asked for in a TLS handshake on a connection to ${host}`);
    return false;
  }
  // A client that connects to an address names no host.
  if (isTls && isIP(host) !== 0) return true;
  gate.refuse(host, port, isTls ? 'was reached without a host name in the TLS handshake' : 'was reached without TLS');
  return false;
}

function answer(client: Duplex, status: string, text: string, headers: readonly string[] = []): void {
  const lines = [`HTTP/1.1 ${status}`, 'Connection: close', 'Content-Type: text/plain; charset=utf-8'];
  const length = `Content-Length: ${Buffer.byteLength(text)}`;
  client.end(`${[...lines, length, ...headers].join('\r\n')}\r\n\r\n${text}`);
}
