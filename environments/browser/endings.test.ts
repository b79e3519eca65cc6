import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { connectEnvironment } from 'proctor/client';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { describeWithChromium } from './test-chromium.ts';

const path = fileURLToPath(new URL('./environment.ts', import.meta.url));

interface Running {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

// The folder that a session's processes have for what is temporary is their mark: it is in the environment of each.
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'browser-endings-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

/** Chromium's processes of this test: those that live, not those that only wait to be reaped. */
function chromiumProcesses(): Running[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      if (!/^\d+$/.test(name)) return [];
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8');
      if (!/chrom/.test(command)) return [];
      if (!readFileSync(`/proc/${name}/environ`, 'utf8').includes(`=${folder}`)) return [];
      const [state, parent] = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      return state === 'Z' ? [] : [{ pid: Number(name), parent: Number(parent), command }];
    } catch {
      // It ended while it was looked at, or is another user's.
      return [];
    }
  });
}

/** What Chromium and its driver have written and not removed. */
function leftovers(): string[] {
  return readdirSync(folder).filter((name) => /^(?:proctor-browser|playwright)/.test(name));
}

/** The Chromium that the driver has started, which is none of its helpers. */
function drivenChromium(): Running {
  const processes = chromiumProcesses();
  const found = processes.find(({ command }) => /--remote-debugging-pipe/.test(command) && !/--type=/.test(command));
  if (found === undefined) throw new Error(`None of ${processes.length} processes is the Chromium that is driven`);
  return found;
}

const gone = () => expect.poll(chromiumProcesses).toEqual([]);

/** The environment as the program, over stdio, with its protocol as lines of JSON. */
function startProgram() {
  const child = spawn(process.execPath, ['--import', 'tsx', path], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const messages = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const initialize = async () => {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
      _meta: { progressToken: 'p' },
    };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    const progress: unknown[] = [];
    for (;;) {
      const { value } = await messages.next();
      const message = JSON.parse(String(value));
      if (message.id === 1) return { progress, result: message.result };
      progress.push(message.params);
    }
  };
  return { child, ended, initialize };
}

const describeOnLinux = describeWithChromium('environments/browser/endings.test.ts', { isLinux: true });

describeOnLinux('a session of the browser environment', () => {
  const target = () => ({ kind: 'module' as const, path, env: { TMPDIR: folder } });

  it('tells how far its start is, and leaves nothing when its input ends', async () => {
    const { child, ended, initialize } = startProgram();
    const { progress, result } = await initialize();
    expect(result.serverInfo.name).toBe('browser');
    expect(progress).toEqual([
      { progressToken: 'p', progress: 5, total: 100, message: 'opening the shop' },
      { progressToken: 'p', progress: 20, total: 100, message: 'launching Chromium' },
      { progressToken: 'p', progress: 100, total: 100, message: 'the shop is open, 1920 by 1080' },
    ]);
    expect(chromiumProcesses().length).toBeGreaterThan(2);
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
    expect([chromiumProcesses(), leftovers()]).toEqual([[], []]);
  });

  it('leaves nothing after SIGTERM', async () => {
    const { child, ended, initialize } = startProgram();
    await initialize();
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    expect([chromiumProcesses(), leftovers()]).toEqual([[], []]);
  });

  it('leaves no process after SIGINT', async () => {
    const { child, ended, initialize } = startProgram();
    await initialize();
    child.kill('SIGINT');
    expect(await ended).toEqual([null, 'SIGINT']);
    await gone();
  });

  it('has a Chromium that is driven over a pipe, without a port, and leaves nothing when its client closes', async () => {
    const client = await connectEnvironment(target());
    const commands = chromiumProcesses().map(({ command }) => command);
    expect(commands.filter((command) => command.includes('--remote-debugging-pipe'))).toHaveLength(1);
    expect(commands.filter((command) => command.includes('--remote-debugging-port'))).toEqual([]);
    await client.close();
    expect([chromiumProcesses(), leftovers()]).toEqual([[], []]);
  });

  it('leaves no process when its own is killed', async () => {
    const client = await connectEnvironment(target());
    onTestFinished(() => client.close());
    process.kill(drivenChromium().parent, 'SIGKILL');
    await gone();
    await expect(client.call('read_page', {})).rejects.toThrow('SIGKILL');
    await client.close();
  });

  it('leaves nothing when its client gives up while Chromium is being launched', async () => {
    const abort = new AbortController();
    const connecting = connectEnvironment(target(), { signal: abort.signal });
    const rejected = expect(connecting).rejects.toThrow('given up');
    await expect.poll(() => chromiumProcesses().length, { interval: 10 }).toBeGreaterThan(0);
    abort.abort(new Error('given up'));
    await rejected;
    await gone();
  });

  it('says in its log which Chromium is missing and how to get one', async () => {
    const logs: string[] = [];
    const missing = { ...target(), env: { TMPDIR: folder, PROCTOR_CHROMIUM: '/nowhere/chromium' } };
    const connecting = connectEnvironment(missing, { onLog: ({ message }) => logs.push(message) });
    await expect(connecting).rejects.toThrow('could not be initialized');
    expect(logs.join('\n')).toMatch(/PROCTOR_CHROMIUM names "\/nowhere\/chromium".*apt-get install chromium/);
  });

  it('ends its tools in words when Chromium has ended', async () => {
    const client = await connectEnvironment(target());
    onTestFinished(() => client.close());
    process.kill(drivenChromium().pid, 'SIGKILL');
    await gone();
    await expect
      .poll(async () => JSON.stringify(await client.call('read_page', {})))
      .toContain('The browser has ended');
    await client.close();
    expect(leftovers()).toEqual([]);
  });
});
