import type { Socket } from 'node:net';
import { type HostedSession, hostedSessionSchema } from '../../../contract/host.ts';
import { isSameSecret } from '../audience.ts';

/** Limits of the opening: bytes of its two lines together, and milliseconds. */
const OPENING = { bytes: 2_048, ms: 5_000 } as const;
const LINE_END = 10;

/**
 * Reads the two lines that a connection to a host begins with: the secret of the host, and the session with its key. A
 * connection with another beginning, or a slow one, is closed without an answer. `onOpened` is called with the socket
 * paused after these lines.
 */
export function readOpening(socket: Socket, secret: string, onOpened: (session: HostedSession) => void): void {
  let received: Buffer = Buffer.alloc(0);
  /** Start of the second line; 0 until the secret was checked. */
  let second = 0;
  const refuse = () => socket.destroy();
  const timer = setTimeout(refuse, OPENING.ms);
  const stop = () => {
    clearTimeout(timer);
    socket.off('data', read);
    socket.off('end', refuse);
    socket.off('close', stop);
  };
  const read = (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    if (second === 0) {
      const end = received.indexOf(LINE_END);
      if (end === -1 && received.length <= OPENING.bytes) return;
      const isShown = end !== -1 && end <= OPENING.bytes;
      if (!isShown || !isSameSecret(received.toString('utf8', 0, end).trimEnd(), secret)) return void refuse();
      second = end + 1;
    }
    const end = received.indexOf(LINE_END, second);
    if (end === -1 && received.length <= OPENING.bytes) return;
    const session = end === -1 || end > OPENING.bytes ? undefined : parse(received.toString('utf8', second, end));
    if (session === undefined) return void refuse();
    stop();
    socket.pause();
    const rest = received.subarray(end + 1);
    if (rest.length > 0) socket.unshift(rest);
    onOpened(session);
  };
  socket.on('data', read);
  socket.once('end', refuse);
  socket.once('close', stop);
}

function parse(line: string): HostedSession | undefined {
  try {
    return hostedSessionSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
