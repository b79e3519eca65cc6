import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';

export interface RedisServer {
  readonly url: string;
  /** Forgets everything. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** The installed server; undefined where there is none. */
export function findRedisServer(): string | undefined {
  try {
    return execFileSync('sh', ['-c', 'command -v redis-server'], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}

let shared: Promise<RedisServer> | undefined;

/** The one server of this test worker, started by the first who asks. */
export function sharedRedis(): Promise<RedisServer> {
  shared ??= startRedis();
  return shared;
}

export async function startRedis(): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'proctor-redis-'));
  const port = await freePort();
  // A shell between us and it, which ends it when our end of its standard input closes, by kill -9 of us too.
  const script =
    'redis-server --port "$0" --bind 127.0.0.1 --save "" --dir "$1" --daemonize no >/dev/null & read -r _; kill $!; wait; rm -rf "$1"';
  const guard: ChildProcess = spawn('sh', ['-c', script, String(port), folder], {
    stdio: ['pipe', 'ignore', 'inherit'],
    detached: true,
  });
  const ended = new Promise<void>((resolve) => guard.once('close', () => resolve()));
  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  for (let tries = 0; (await ask(port, 'PING').catch(() => '')) !== '+PONG'; tries++) {
    if (tries === 200) throw new Error('Redis could not be started');
    await sleep(50);
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    flush: async () => void (await ask(port, 'FLUSHALL')),
    async close() {
      guard.ref();
      guard.stdin?.end();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function ask(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, '127.0.0.1').once('error', reject);
    socket.setEncoding('utf8').once('data', (text: string) => {
      socket.destroy();
      resolve(text.trim());
    });
    socket.write(`${command}\r\n`);
  });
}
