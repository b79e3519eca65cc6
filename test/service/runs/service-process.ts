import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Reply, send } from '../../support/http/http-server.ts';
import { GATE } from './service.ts';

export interface ServiceProcess {
  readonly child: ChildProcess;
  readonly url: string;
  request(path: string, body?: object): Promise<Reply>;
}

/**
 * The service with one environment as a process of its own, until the test ends.
 *
 * @param gateway base URL of the gateway of all models. Default: none.
 */
export async function spawnService(
  databaseUrl: string,
  gateway?: string,
  { name, path } = { name: 'gate', path: GATE.path as string },
): Promise<ServiceProcess> {
  const program = fileURLToPath(new URL('./fixtures/service-process.mjs', import.meta.url));
  const child = spawn(
    process.execPath,
    [program, databaseUrl, name, path, ...(gateway === undefined ? [] : [gateway])],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { url, key } = z.object({ url: z.string(), key: z.string() }).parse(JSON.parse(String(line)));
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return {
    child,
    url,
    request: (path, body) =>
      send(url, path, { headers, ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }) }),
  };
}
