import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below those that the system gives to connections (from 32,768 on Linux, 49,152 on macOS). */
const PORTS = { from: 10_000, to: 32_000 } as const;

/**
 * A port that is free and will be: a port that the system chose may belong to somebody's connection by the time a server
 * wants it, or wants it again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.to);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
