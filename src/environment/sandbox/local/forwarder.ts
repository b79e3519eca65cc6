import { messageOf } from '../../../contract/errors.ts';
import { EngineError } from '../engine.ts';
import { type HostCommand, spawnOnHost } from './local-process.ts';

const READY_MS = 15_000;

/**
 * Program of a forwarder: it listens at its first argument, and connects each client with the second. Each is a port of
 * the loopback, or the path of a socket.
 */
const PROGRAM = `
const net = require('node:net');
const [from, to] = process.argv.slice(1).map((at) => (/^[0-9]+$/.test(at) ? { host: '127.0.0.1', port: Number(at) } : { path: at }));
const server = net.createServer({ allowHalfOpen: true }, (client) => {
  const other = net.connect({ ...to, allowHalfOpen: true });
  client.on('error', () => other.destroy());
  other.on('error', () => client.destroy());
  client.pipe(other);
  other.pipe(client);
});
server.on('error', (error) => { console.error(error.message); process.exit(1); });
server.listen(from, () => console.log('ready'));
`;

export interface Forwarder {
  close(): void;
}

/** Arguments of Node.js for a forwarder. */
export function forwarderCommand(from: string | number, to: string | number): readonly string[] {
  return [process.execPath, '-e', PROGRAM, String(from), String(to)];
}

/** Starts a forwarder, and waits until it listens. @throws EngineError; the reason of the signal. */
export async function startForwarder(command: HostCommand, signal: AbortSignal): Promise<Forwarder> {
  signal.throwIfAborted();
  const child = spawnOnHost(command, ['ignore', 'pipe', 'pipe']);
  const close = () => void child.kill('SIGKILL');
  let said = '';
  const limit = AbortSignal.any([signal, AbortSignal.timeout(READY_MS)]);
  try {
    await new Promise<void>((resolve, reject) => {
      limit.addEventListener('abort', () => reject(limit.reason), { once: true });
      child.on('error', reject);
      child.once('exit', () => reject(new Error(said.trim() || 'it ended at once')));
      child.stderr?.on('data', (chunk: Buffer) => {
        said = (said + chunk.toString('utf8')).slice(0, 1_000);
      });
      child.stdout?.once('data', () => resolve());
    });
  } catch (error) {
    close();
    signal.throwIfAborted();
    const message = `A port of the sandbox cannot be forwarded: ${messageOf(error)}`;
    throw new EngineError('create', message, { cause: error });
  }
  return { close };
}
