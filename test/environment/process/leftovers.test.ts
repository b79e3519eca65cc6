import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import { startOf } from '../../../src/environment/process/process-table.ts';
import { WATCHDOG_SCRIPT } from '../../../src/environment/process/watchdog.ts';
import { Script } from '../../processes.ts';
import { until } from '../../until.ts';
import { isRunning } from '../client/processes.ts';

const PATH = fileURLToPath(new URL('./fixtures/clinging/environment.ts', import.meta.url));
const PATIENCE = { timeout: 60_000 };
const pidsSchema = z.array(z.int().min(2)).length(4);

/** An environment and the processes that it started, the environment's own first. */
async function cling() {
  const client = await connectEnvironment({ kind: 'module', path: PATH });
  onTestFinished(() => client.close());
  const { structured_content } = await client.call('cling', {});
  const pids = pidsSchema.parse(structured_content?.pids);
  expect(pids.filter(isRunning)).toEqual(pids);
  return { client, pids };
}

// On macOS a process shows its variables to nobody: what leaves the group is not found there, and docs/security.md says so.
describe.skipIf(process.platform !== 'linux')('what an environment leaves behind', PATIENCE, () => {
  it('is ended when its client closes: children, those in a session of their own, and those with another parent', async () => {
    const { client, pids } = await cling();
    await client.close();
    await until(() => !pids.some(isRunning));
  });

  it('is ended when the environment itself is killed', async () => {
    const { client, pids } = await cling();
    process.kill(pids[0] ?? 0, 'SIGKILL');
    await client.lost;
    await until(() => !pids.some(isRunning));
  });

  it('leaves the processes of other environments alone', async () => {
    const [one, other] = await Promise.all([cling(), cling()]);
    await one.client.close();
    await until(() => !one.pids.some(isRunning));
    expect(other.pids.filter(isRunning)).toEqual(other.pids);
  });

  it('is ended when the process that started the environment is killed', async () => {
    const parent = new Script(new URL('./fixtures/clinging-parent.ts', import.meta.url), [PATH, 'cling']);
    await parent.said(1);
    const pids = pidsSchema.parse(JSON.parse(parent.lines[0] ?? ''));
    expect(pids.filter(isRunning)).toEqual(pids);
    await parent.kill();
    await until(() => !pids.some(isRunning));
  });
});

describe.skipIf(process.platform !== 'linux')('the watchdog', PATIENCE, () => {
  /** A process in a group of its own. */
  const startStranger = async (): Promise<ChildProcess & { readonly pid: number }> => {
    const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
      detached: true,
      stdio: 'ignore',
    });
    onTestFinished(() => void stranger.kill('SIGKILL'));
    await once(stranger, 'spawn');
    return Object.assign(stranger, { pid: stranger.pid ?? 0 });
  };

  it('does not end a process that got the number of one that is gone', async () => {
    const [stranger, own] = [await startStranger(), await startStranger()];
    const watchdog = spawn('/bin/sh', ['-c', WATCHDOG_SCRIPT, 'watchdog', 'a-mark-that-nobody-has'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const ended = once(watchdog, 'close');
    const ownExit = once(own, 'exit');
    watchdog.stdin?.end(`+ ${stranger.pid} 1\n+ ${own.pid} ${startOf(own.pid)}\n`);
    expect(await ownExit).toEqual([null, 'SIGTERM']);
    await ended;
    expect(isRunning(stranger.pid)).toBe(true);
  });
});
