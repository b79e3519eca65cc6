import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

/** Container engines for tests: addresses, and the names of two images; or why there are none. */
export type SharedEngines =
  | { readonly urls: readonly string[]; readonly busy: string; readonly node: string }
  | { readonly unavailable: string };

declare module 'vitest' {
  interface ProvidedContext {
    /** A test worker asks here for the shared engines. */
    readonly enginesUrl: string;
  }
}

const SCRIPT = fileURLToPath(new URL('../../scripts/engines.mjs', import.meta.url));

/** One Docker and one Podman for all workers of a run, started when the first of them asks. */
export default async function enginesForAll(project: TestProject): Promise<() => Promise<void>> {
  let child: ChildProcess | undefined;
  let starting: Promise<SharedEngines> | undefined;
  const desk = createServer(async (_, response) => {
    starting ??= start((started) => {
      child = started;
    });
    response.end(JSON.stringify(await starting));
  });
  await new Promise<void>((resolve) => desk.listen(0, '127.0.0.1', resolve));
  project.provide('enginesUrl', `http://127.0.0.1:${(desk.address() as AddressInfo).port}`);
  return async () => {
    desk.closeAllConnections();
    desk.close();
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.stdin?.end();
    await ended;
  };
}

async function start(onStarted: (child: ChildProcess) => void): Promise<SharedEngines> {
  const child = spawn(process.execPath, [SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] });
  onStarted(child);
  for await (const line of createInterface({ input: child.stdout })) {
    const answer = JSON.parse(line) as SharedEngines;
    if ('unavailable' in answer) console.warn(`skipped: tests on container engines: ${answer.unavailable}`);
    return answer;
  }
  return { unavailable: 'scripts/engines.mjs ended without an answer' };
}
