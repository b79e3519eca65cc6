import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** How the environment of these tests is started over stdio. */
export const STDIO = {
  command: process.execPath,
  args: [path('../../dist/environment/server/start/environment-main.js'), path('./fixtures/stepping-counter.ts')],
} as const;

export interface StartedServer {
  /** Where the transport that was asked for is served. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts the environment as a process that serves over HTTP on a free port. Whoever started it stops it. */
export async function startServer(transport: 'http' | 'sse'): Promise<StartedServer> {
  const env = { ...process.env, PROCTOR_TRANSPORT: transport, PROCTOR_PORT: '0' };
  const child = spawn(STDIO.command, STDIO.args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'close');
  return {
    url: await addressOf(child),
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const address = /http:\/\/\S+/.exec(said)?.[0];
      if (address !== undefined && said.endsWith('\n')) resolve(address);
    });
    child.once('close', () => reject(new Error(`The server ended: ${said}`)));
  });
}
