import { rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BufferedLog } from '../../../src/environment/client/buffered-log.ts';
import type { EnvironmentClient, EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { hashTargetCode } from '../../../src/environment/client/pool/module-hash.ts';
import {
  type WarmConnectOptions,
  WarmPool,
  type WarmPoolOptions,
} from '../../../src/environment/client/pool/warm-pool.ts';
import { until } from '../../until.ts';
import { createLab } from '../dev/project.ts';
import { failureOf, fixture } from './harness.ts';
import { isRunning, processesNamed } from './processes.ts';

let servers = 0;

/** A program of which a process starts fast, and what finds its processes. */
function createProgram(...args: readonly string[]) {
  servers += 1;
  const marker = `spare-${process.pid}-${servers}`;
  const path = fixture('spare-server.mjs');
  const target: EnvironmentTarget = { kind: 'command', command: process.execPath, args: [path, marker, ...args] };
  return { target, pids: () => processesNamed(marker) };
}

/** A pool, the sessions that were given processes by it, and what it reports, until the test ends. */
function createPool(options: Partial<WarmPoolOptions> = {}) {
  const reports: string[] = [];
  const pool = new WarmPool({
    perEnvironment: 2,
    report: (line) => reports.push(line),
    retryMs: { first: 5, longest: 20 },
    ...options,
  });
  const sessions: EnvironmentClient[] = [];
  const close = () => Promise.all([pool.close(), ...sessions.map((session) => session.close())]);
  onTestFinished(() => void close());
  return {
    pool,
    reports,
    close,
    async connect(target: EnvironmentTarget, connectOptions: Partial<WarmConnectOptions> = {}) {
      const codeHash = await hashTargetCode(target);
      const session = await pool.connect(target, { codeHash, ...connectOptions });
      sessions.push(session);
      return session;
    },
    /** Resolves once at least so many of its processes wait: a second one may be ready before the next look. */
    ready: (target: EnvironmentTarget, count: number) => until(() => pool.ready(target) >= count),
  };
}

async function pidOf(session: EnvironmentClient): Promise<number> {
  const { content, structured_content } = await session.call('pid', {});
  const [block] = content;
  return Number(structured_content?.pid ?? (block !== undefined && 'text' in block ? block.text : undefined));
}

describe('a warm pool', () => {
  it('starts no process before somebody asks for the environment, and then keeps as many ready as it was told', async () => {
    const { target, pids } = createProgram();
    const pool = createPool();
    expect(pids()).toEqual([]);
    await pool.connect(target);
    await pool.ready(target, 2);
    expect(pids()).toHaveLength(3);
  });

  it('starts them beforehand where it is told to', async () => {
    const { target, pids } = createProgram();
    const pool = createPool({ perEnvironment: 1 });
    pool.pool.warm(target);
    await pool.ready(target, 1);
    const waiting = pids();
    expect(waiting).toEqual([await pidOf(await pool.connect(target))]);
  });

  it('gives a process that waits to a session at once, and starts another one in its place', async () => {
    const { target, pids } = createProgram();
    const pool = createPool();
    await pool.connect(target);
    await pool.ready(target, 2);
    const before = pids();
    const codeHash = await hashTargetCode(target);
    let isNextTurn = false;
    setImmediate(() => {
      isNextTurn = true;
    });
    const session = await pool.pool.connect(target, { codeHash });
    expect(isNextTurn).toBe(false);
    expect(before).toContain(await pidOf(session));
    await pool.ready(target, 2);
    expect(pids()).toHaveLength(4);
    await session.close();
    expect(pids()).toHaveLength(3);
  });

  it('never gives one process to two sessions, however many come at once', async () => {
    const { target } = createProgram();
    const pool = createPool();
    await pool.connect(target);
    await pool.ready(target, 2);
    const given = await Promise.all(Array.from({ length: 6 }, () => pool.connect(target)));
    const pids = await Promise.all(given.map(pidOf));
    expect(new Set(pids).size).toBe(6);
    await given[0]?.close();
    expect(pids).not.toContain(await pidOf(await pool.connect(target)));
  });

  it('ends the processes of an environment that nobody asked for in a while, and starts some when somebody does', async () => {
    const { target, pids } = createProgram();
    const pool = createPool({ perEnvironment: 1, idleMs: 1_500 });
    const session = await pool.connect(target);
    await pool.ready(target, 1);
    await session.close();
    await until(() => pids().length === 0);
    expect(pool.pool.ready(target)).toBe(0);
    await pool.connect(target);
    await pool.ready(target, 1);
  });

  it('ends the processes of an environment that are to wait no more, and keeps what was given out', async () => {
    const { target, pids } = createProgram();
    const pool = createPool();
    const session = await pool.connect(target);
    await pool.ready(target, 1);
    pool.pool.drop(target);
    expect(pool.pool.ready(target)).toBe(0);
    const own = await pidOf(session);
    await until(() => expect(pids()).toEqual([own]));
    await pool.close();
    expect(pool.reports).toEqual([]);
  });

  it('replaces a process that died while it waited', async () => {
    const { target, pids } = createProgram();
    const pool = createPool({ perEnvironment: 1 });
    await pool.connect(target);
    await pool.ready(target, 1);
    const spare = pids().at(-1) as number;
    process.kill(spare, 'SIGKILL');
    await until(() => pool.reports.length === 1);
    expect(pool.reports[0]).toContain('was ended by the signal SIGKILL');
    await pool.ready(target, 1);
    expect(await pidOf(await pool.connect(target))).not.toBe(spare);
  });

  it('gives out no process of code that was changed, and keeps processes of the new code', {
    timeout: 60_000,
  }, async () => {
    const lab = createLab();
    const target = { kind: 'module', path: lab.path } as const;
    const pool = createPool({ perEnvironment: 1 });
    await pool.connect(target);
    await pool.ready(target, 1);
    lab.write('label.ts', "export const LABEL = 'the second';\n");
    const labelOf = async (session: EnvironmentClient) => (await session.call('label', {})).content[0];
    const cold = await pool.connect(target);
    expect(await labelOf(cold)).toMatchObject({ text: 'the second' });
    await pool.ready(target, 1);
    const running = processesNamed(lab.path);
    const warm = await pool.connect(target);
    expect(running).toContain(await pidOf(warm));
    expect(await labelOf(warm)).toMatchObject({ text: 'the second' });
    await pool.close();
    expect(processesNamed(lab.path)).toEqual([]);
  });

  it('gives what a process logged while it waited to the session that takes it, and what it logs then', async () => {
    const { target } = createProgram();
    const pool = createPool({ perEnvironment: 1 });
    const logs: string[][] = [[], []];
    const onLog = (index: number) => ({ onLog: ({ message }: { message: string }) => logs[index]?.push(message) });
    const cold = await pool.connect(target, onLog(0));
    await pool.ready(target, 1);
    const warm = await pool.connect(target, onLog(1));
    await warm.call('log', {});
    await cold.call('log', {});
    const [one, other] = [await pidOf(cold), await pidOf(warm)];
    await until(() => logs.flat().length === 4);
    expect(logs).toEqual([
      [`started as ${one}`, `logged by ${one}`],
      [`started as ${other}`, `logged by ${other}`],
    ]);
  });

  it('waits longer after each failure to start one, and fails no session by it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'warm-pool-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const lock = join(folder, 'lock');
    const { target, pids } = createProgram(lock);
    const pool = createPool({ perEnvironment: 1, retryMs: { first: 4, longest: 16 } });
    const session = await pool.connect(target);
    await pool.ready(target, 1);
    const own = await pidOf(session);
    writeFileSync(lock, '');
    for (const pid of pids()) if (pid !== own) process.kill(pid, 'SIGKILL');
    await until(() => pool.reports.length >= 5);
    const waits = pool.reports.slice(0, 5).map((line) => Number(/next (\d+) ms/.exec(line)?.[1]));
    expect(waits).toEqual([4, 8, 16, 16, 16]);
    expect(pool.reports[1]).toContain('the licence is locked');
    expect((await failureOf(pool.connect(target))).message).toContain('the licence is locked');
    expect(await pidOf(session)).toBe(own);
    rmSync(lock);
    await pool.ready(target, 1);
    expect(await pidOf(await pool.connect(target))).not.toBe(own);
  });

  it('keeps no more than its limit over all environments: what was asked for longest ago gives way', async () => {
    const [one, other] = [createProgram(), createProgram()];
    const pool = createPool({ perEnvironment: 2, maxWaiting: 2 });
    await pool.connect(one.target);
    await pool.ready(one.target, 2);
    await pool.connect(other.target);
    await pool.ready(other.target, 2);
    expect(pool.pool.ready(one.target)).toBe(0);
    await until(() => one.pids().length === 1);
    expect(other.pids()).toHaveLength(3);
  });

  it('of none gives each session a process of its own and keeps no other', async () => {
    const { target, pids } = createProgram();
    const pool = createPool({ perEnvironment: 0 });
    const [one, other] = [await pool.connect(target), await pool.connect(target)];
    expect(pids().sort()).toEqual([await pidOf(one), await pidOf(other)].sort());
  });

  it('ends on close what waits and what is being started, and nothing that a session has', async () => {
    const [one, other] = [createProgram(), createProgram()];
    const pool = createPool({ perEnvironment: 1 });
    const session = await pool.connect(one.target);
    await pool.ready(one.target, 1);
    pool.pool.warm(other.target);
    await until(() => other.pids().length === 1);
    await pool.pool.close();
    expect([...one.pids(), ...other.pids()]).toEqual([await pidOf(session)]);
    await session.close();
    expect(one.pids()).toEqual([]);
  });

  it('takes no process from a session that is being ended before it has one', async () => {
    const { target } = createProgram();
    const pool = createPool({ perEnvironment: 1 });
    await pool.connect(target);
    await pool.ready(target, 1);
    const gone = new Error('The client went away');
    await expect(pool.connect(target, { signal: AbortSignal.abort(gone) })).rejects.toBe(gone);
    expect(pool.pool.ready(target)).toBe(1);
  });
});

describe('a process of an environment', () => {
  it('that is gone though nobody closed it says so, at once and once', async () => {
    const { target, pids } = createProgram();
    const pool = createPool({ perEnvironment: 0 });
    const session = await pool.connect(target);
    const [pid] = pids();
    process.kill(pid as number, 'SIGKILL');
    const lost = await session.lost;
    expect(lost).toMatchObject({ boundary: 'environment', code: 'environment_failed' });
    expect(lost?.message).toContain('The environment "spare" was ended by the signal SIGKILL');
    expect(isRunning(pid as number)).toBe(false);
  });

  it('that was closed was not lost', async () => {
    const { target } = createProgram();
    const pool = createPool({ perEnvironment: 0 });
    const session = await pool.connect(target);
    let isLost = false;
    void session.lost?.then(() => {
      isLost = true;
    });
    await session.close();
    await new Promise(setImmediate);
    expect(isLost).toBe(false);
  });
});

describe('the log of a process that waits', () => {
  it('is kept up to its newest thousand lines, and says what is missing', () => {
    const log = new BufferedLog();
    for (let line = 1; line <= 1_500; line += 1) log.add({ level: 'info', logger: 'environment', message: `${line}` });
    const given: string[] = [];
    log.passTo(({ message }) => given.push(message));
    expect(given).toHaveLength(1_001);
    expect(given[0]).toContain('the first 500 lines were dropped');
    expect([given[1], given.at(-1)]).toEqual(['501', '1500']);
    log.add({ level: 'info', logger: 'environment', message: 'after' });
    expect(given.at(-1)).toBe('after');
  });

  it('keeps one line that is longer than all', () => {
    const log = new BufferedLog();
    for (const size of [10, 1_000_000]) {
      log.add({ level: 'info', logger: 'environment', message: 'x'.repeat(size) });
    }
    const given: number[] = [];
    log.passTo(({ message, logger }) => void (logger === 'environment' && given.push(message.length)));
    expect(given).toEqual([1_000_000]);
  });
});
