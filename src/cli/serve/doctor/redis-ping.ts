import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { shownAddress } from '../../base/shown-address.ts';

const PATIENCE_MS = 5_000;
const DEFAULT_PORT = 6_379;

/**
 * Pings a Redis server with the user and password of its address.
 *
 * @throws Error with a way out.
 */
export async function pingRedis(address: string): Promise<void> {
  const url = new URL(address);
  const place = { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(url.port || DEFAULT_PORT) };
  const socket = url.protocol === 'rediss:' ? connectTls({ ...place, servername: place.host }) : connect(place);
  const user = decodeURIComponent(url.username || 'default');
  const commands = [...(url.password === '' ? [] : [['AUTH', user, decodeURIComponent(url.password)]]), ['PING']];
  try {
    const reply = await new Promise<string>((resolve, reject) => {
      let text = '';
      socket.setTimeout(PATIENCE_MS, () => reject(new Error(`no answer within ${PATIENCE_MS / 1_000} s`)));
      socket.once('error', reject);
      socket.once('close', () => reject(new Error('it closed the connection')));
      socket.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (/\+PONG\r\n|^-/m.test(text)) resolve(text);
      });
      socket.write(commands.map(encode).join(''));
    });
    const refusal = /^-(.*?)\r?$/m.exec(reply)?.[1];
    if (refusal !== undefined) throw new Error(`it answered ${JSON.stringify(refusal.slice(0, 100))}`);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${shownAddress(address)} does not work: ${reason}. Check PROCTOR_QUEUE_URL`, { cause });
  } finally {
    socket.destroy();
  }
}

/** Encodes a command in the Redis protocol. */
function encode(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
