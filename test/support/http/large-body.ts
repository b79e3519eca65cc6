import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** How the connection of one request ended: what came, and what its client met while it sent. */
export interface Ending {
  readonly status: number | undefined;
  readonly error: string | undefined;
}

const PIECE = Buffer.alloc(256 * 1024, 'x');

/**
 * Sends a body of so many pieces of 256 KiB as a client does that reads nothing before it has sent all, or, with
 * `waitsForReply`, the second half after the reply has come.
 */
export async function sendLarge(
  address: string,
  options: {
    readonly pieces: number;
    readonly isChunked?: boolean;
    readonly waitsForReply?: boolean;
    readonly key?: string;
  },
): Promise<Ending> {
  const { hostname, port, pathname, host } = new URL(address);
  const { pieces, isChunked = false, waitsForReply = false } = options;
  const socket = connect(Number(port), hostname);
  let text = '';
  let error: string | undefined;
  socket.on('error', (thrown: NodeJS.ErrnoException) => {
    error = thrown.code ?? thrown.message;
  });
  const replied = new Promise<void>((resolve) => {
    socket.setEncoding('latin1').on('data', (piece) => {
      text += piece;
      resolve();
    });
    socket.once('close', () => resolve());
  });
  const length = isChunked ? 'transfer-encoding: chunked' : `content-length: ${pieces * PIECE.length}`;
  const lines = [`POST ${pathname} HTTP/1.1`, `host: ${host}`, 'content-type: application/json', length];
  const accept = 'accept: application/json, text/event-stream';
  if (options.key !== undefined) lines.push(`authorization: Bearer ${options.key}`);
  socket.write([...lines, accept, 'connection: close', '', ''].join('\r\n'));
  for (let sent = 0; sent < pieces && error === undefined; sent += 1) {
    if (waitsForReply && sent === Math.ceil(pieces / 2)) await replied;
    if (isChunked) socket.write(`${PIECE.length.toString(16)}\r\n`);
    await writeTo(socket, PIECE);
    if (isChunked) socket.write('\r\n');
  }
  if (isChunked) socket.write('0\r\n\r\n');
  if (!socket.closed) await once(socket, 'close').catch(() => {});
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]) || undefined, error };
}

/** Resolves when the piece was handed to the system, or could not be. */
async function writeTo(socket: Socket, piece: Buffer): Promise<void> {
  await new Promise<void>((resolve) => socket.write(piece, () => resolve()));
}
