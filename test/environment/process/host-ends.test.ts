import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../../until.ts';
import { isRunning } from '../client/processes.ts';
import { fixture } from '../server/child.ts';
import { textOf } from '../server/clients.ts';
import { createKey, HOSTED, makeHost, openSession, PATIENCE, startHost, type TestSession } from './hosts.ts';

const call = ({ client }: TestSession, name: string, args: Record<string, unknown> = {}) =>
  client.callTool({ name, arguments: args });

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe('the end of a host', PATIENCE, () => {
  it.each([
    ['throw_later', 'boom', /^threw an uncaught error at .*hosted\.ts:\d+:\d+: Error: boom$/],
    ['reject', 'never', /^threw an uncaught error at .*hosted\.ts:\d+:\d+: TypeError: never$/],
    ['exit', 'process.exit', /^ended its process with process\.exit\(3\)$/],
  ])('by %s is the error of the session whose code it was, and not of its neighbour', async (tool, text, told) => {
    const { host, log } = await startHost();
    const [guilty, neighbour] = [await openSession(host, 'guilty'), await openSession(host, 'neighbour')];
    const closed = new Promise<void>((resolve) => {
      neighbour.client.onclose = resolve;
    });
    await call(guilty, tool, { text }).catch(() => {});
    const ending = await host.ended;
    expect(ending).toMatchObject({ reason: 'failed', session: 'guilty' });
    expect(ending.text).toMatch(told);
    await closed;
    expect(guilty.connection.ending).toBe(ending.text);
    expect(neighbour.connection.ending).toContain('by the code of another session');
    expect(neighbour.connection.ending).not.toContain(text);
    expect(neighbour.printed.join()).not.toMatch(/boom|never/);
    if (tool !== 'exit') expect(log.join('\n')).toContain(text);
  });

  it('comes when it has said nothing for too long, as a process that was stopped does', async () => {
    const { host } = await startHost({ silenceMs: 3_000 });
    const session = await openSession(host, 'one');
    process.kill(host.pid ?? 0, 'SIGSTOP');
    const ending = await host.ended;
    expect(ending.reason).toBe('stuck');
    expect(ending.text).toMatch(/^was killed: it sent no report for \d+ s$/);
    expect(session.connection.ending).toBe(ending.text);
    expect(isRunning(host.pid ?? 0)).toBe(false);
  });

  it('by SIGTERM runs close hooks and the shutdown hooks of each instance once, side by side', async () => {
    const notes = join(await createFolder(), 'notes');
    const { host } = await startHost({ env: { NOTES: notes, HANG: 'one' } });
    const sessions = await Promise.all(['one', 'two', 'three'].map((name) => openSession(host, name)));
    await sessions[2]?.client.close();
    await host.close();
    // The hook that hangs is the first to run; what is left of the budget is for the others of that instance.
    const lines = readFileSync(notes, 'utf8').trim().split('\n');
    expect(lines.toSorted()).toEqual(['close one', 'close three', 'close two', 'shutdown one', 'shutdown two']);
    expect(await host.ended).toMatchObject({ reason: 'asked', text: 'exited with code 0' });
    expect(sessions[0]?.printed).toContain('close one');
  });

  it('runs the shutdown hooks of sessions that end because their starter does, once, also when SIGTERM follows', async () => {
    const notes = join(await createFolder(), 'notes');
    const { host } = await startHost({ env: { NOTES: notes, HANG: 'one' } });
    let isShuttingDown = false;
    const sessions = await Promise.all(
      ['one', 'two', 'three'].map((name) => openSession(host, name, { isShuttingDown: () => isShuttingDown })),
    );
    await sessions[2]?.client.close();
    isShuttingDown = true;
    const closing = sessions.slice(0, 2).map(({ client }) => client.close());
    await until(() => readFileSync(notes, 'utf8').includes('close one'));
    await Promise.all([...closing, host.close()]);
    const lines = readFileSync(notes, 'utf8').trim().split('\n');
    expect(lines.toSorted()).toEqual(['close one', 'close three', 'close two', 'shutdown one', 'shutdown two']);
    expect(lines.indexOf('shutdown two')).toBeGreaterThan(lines.indexOf('close two'));
    expect(await host.ended).toMatchObject({ reason: 'asked', text: 'exited with code 0' });
  });

  it('by SIGTERM runs nothing where no session is open', async () => {
    const notes = join(await createFolder(), 'notes');
    const { host } = await startHost({ env: { NOTES: notes } });
    await host.close();
    expect(existsSync(notes)).toBe(false);
    expect(await host.ended).toMatchObject({ reason: 'asked', text: 'exited with code 0' });
  });

  it('by draining waits for the last session and takes no new one', async () => {
    const notes = join(await createFolder(), 'notes');
    const { host } = await startHost({ env: { NOTES: notes } });
    const session = await openSession(host, 'last');
    const refused = host.connect({ session: 'late', harnessKey: createKey() });
    host.drain();
    await until(() => readdirSync(tmpdir()).every((name) => !isSocketOf(name)));
    await expect(refused.start()).rejects.toThrow(/ENOENT|ECONNREFUSED/);
    expect(textOf(await call(session, 'name'))).toBe('last');
    await session.client.close();
    expect(await host.ended).toMatchObject({ reason: 'asked', text: 'exited with code 0' });
    expect(readFileSync(notes, 'utf8')).toBe('close last\n');
  });

  it('by a loop that does not turn is told as such, and kills it', async () => {
    const { host, gauges } = await startHost();
    const [guilty, neighbour] = [await openSession(host, 'guilty'), await openSession(host, 'neighbour')];
    call(guilty, 'block').catch(() => {});
    const { reason, text, session } = await host.ended;
    expect(reason).toBe('stuck');
    expect(text).toMatch(/^was killed: its event loop was blocked for \d\d s$/);
    expect(session).toBeUndefined();
    expect(neighbour.connection.ending).toBe(text);
    // The thread goes on to report while the loop stands still.
    expect(Math.max(...gauges.map(({ lagMs }) => lagMs))).toBeGreaterThan(5_000);
    expect(isRunning(Number(host.pid))).toBe(false);
  });

  it('by SIGKILL from outside is nobody’s fault', async () => {
    const { host } = await startHost();
    const session = await openSession(host, 'one');
    process.kill(Number(host.pid), 'SIGKILL');
    const text = 'was ended by the signal SIGKILL';
    expect(await host.ended).toEqual({ reason: 'died', text, session: undefined });
    expect(session.connection.ending).toBe(text);
  });

  it('leaves no socket behind', async () => {
    const { host } = await startHost();
    process.kill(Number(host.pid), 'SIGKILL');
    await host.ended;
    expect(readdirSync(tmpdir()).filter(isSocketOf)).toEqual([]);
  });
});

describe('a module that cannot be hosted', PATIENCE, () => {
  it('because it exports an instance: the start fails and names sessionsPerProcess', async () => {
    const module = join(await createFolder(), 'environment.mjs');
    const entry = new URL('../../../dist/index.js', import.meta.url).href;
    await writeFile(
      module,
      `import { EnvironmentServer } from '${entry}';\nexport default new EnvironmentServer({ name: 'one' });\n`,
    );
    const { host } = makeHost({ module, sessionsPerProcess: 2 });
    await expect(host.start()).rejects.toThrow('exited with code 1');
    expect(host.lastWords).toContain(
      'exports an instance, which all sessions would share, and sessionsPerProcess is 2',
    );
    const alone = makeHost({ module });
    expect(await alone.host.start()).toMatchObject({ name: 'one', sessionsPerProcess: 1 });
  });

  it('because it cannot be loaded: the start fails, with the place', async () => {
    const { host } = makeHost({ module: `${HOSTED}x` });
    await expect(host.start()).rejects.toThrow('exited with code 1');
    expect(host.lastWords).toContain('hosted.tsx');
  });

  it('because its start is given up: nothing is left', async () => {
    const { host } = makeHost({ module: fixture('adversary.ts') });
    await expect(host.start(AbortSignal.abort(new Error('given up')))).rejects.toThrow('given up');
    expect(readdirSync(tmpdir()).filter(isSocketOf)).toEqual([]);
  });
});

function isSocketOf(name: string): boolean {
  return name.startsWith(`proctor-host-${process.pid}_`) && existsSync(join(tmpdir(), name, 's'));
}
