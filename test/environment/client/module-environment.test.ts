import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { until } from '../../until.ts';
import { connections, failureOf, fixture } from './harness.ts';
import { isRunning, processesNamed } from './processes.ts';

const livelyPath = fixture('lively/environment.ts');
const lively: EnvironmentTarget = { kind: 'module', path: livelyPath };
const pidOf = (path: string) => processesNamed(path)[0] as number;

// Each test starts processes, and a machine may have ten times too much to do.
vi.setConfig({ testTimeout: 120_000 });

// Hooks run in reverse: this one after the connections are closed.
afterEach(() => expect(processesNamed(livelyPath)).toEqual([]));
const { connect, logs, messages } = connections();

describe('a module as an environment', () => {
  it('is ended by SIGTERM, so that its shutdown hooks run, and nothing is left of it', async () => {
    const client = await connect(lively);
    const pid = pidOf(livelyPath);
    expect(isRunning(pid)).toBe(true);
    await client.close();
    expect(isRunning(pid)).toBe(false);
    expect(messages()).toContain('shutdown hook ran');
  });

  it('has a process and a state of its own for each connection', async () => {
    const [one, other] = await Promise.all([connect(lively), connect(lively)]);
    await one.call('add', { by: 5 });
    expect((await other.call('read', {})).structured_content).toMatchObject({ count: 0 });
    expect(processesNamed(livelyPath)).toHaveLength(2);
  });

  it('may print what it likes, in every way: each line is a log line, and the protocol goes on', async () => {
    const client = await connect(lively);
    expect(await client.call('print', {})).toMatchObject({ is_error: false });
    await client.close();
    for (const line of ['printed by console.log', 'printed to descriptor 1', 'printed by a child']) {
      expect(logs).toContainEqual({ level: 'info', logger: 'environment', message: line });
    }
  });

  it('exits in setup: a failure of setup that says so', async () => {
    const client = await connect(lively);
    const error = await failureOf(client.setup('setup_exits', {}));
    expect(error).toMatchObject({ boundary: 'setup', code: 'environment_failed' });
    expect(error.message).toMatch(
      /^While running the setup of the scenario "setup_exits", the environment "lively" exited with code 5/,
    );
  });

  it('exits in a tool: the failure has its last words', async () => {
    const client = await connect(lively);
    const error = await failureOf(client.call('exit', {}));
    expect(error.boundary).toBe('tool');
    expect(error.message).toContain('exited with code 4. Its last lines on standard error:\nabout to exit');
  });

  it('is killed during a call: the call fails, and those after it', async () => {
    const client = await connect(lively);
    const call = failureOf(client.call('hang', {}));
    await client.call('read', {});
    process.kill(pidOf(livelyPath), 'SIGKILL');
    expect((await call).message).toContain('the environment "lively" was ended by the signal SIGKILL');
    expect((await failureOf(client.tools())).message).toContain('was ended by the signal SIGKILL');
  });

  it('blocks its event loop: the limit frees the caller, and SIGKILL ends it after the grace', {
    timeout: 40_000,
  }, async () => {
    const client = await connect(lively);
    expect((await failureOf(client.call('block', {}, { timeoutMs: 100 }))).message).toContain('within 100 ms');
    await client.close();
    expect(processesNamed(livelyPath)).toEqual([]);
  });

  it('is given its key in a way that no other process can read, and none of the secrets of this one', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'secret of the service');
    const client = await connect({ ...lively, env: { GREETING: 'hello' } });
    vi.unstubAllEnvs();
    expect(client.name).toBe('lively');
    if (process.platform !== 'linux') return;
    const variables = await readFile(`/proc/${pidOf(livelyPath)}/environ`, 'utf8');
    expect(variables).toContain('GREETING=hello');
    expect(variables).not.toContain('secret of the service');
    const names = variables.split('\0').flatMap((line) => (line.startsWith('PROCTOR_') ? [line.split('=')[0]] : []));
    expect(names.sort()).toEqual(['PROCTOR_HARNESS_KEY_FD', 'PROCTOR_PROTOCOL_FD', 'PROCTOR_RUN']);
  });
});

describe('a module that cannot be an environment', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'module-'));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function write(code: string): Promise<EnvironmentTarget> {
    const path = join(folder, 'environment.ts');
    await writeFile(path, code);
    return { kind: 'module', path };
  }

  it('has a syntax error: the failure has file, line and column', async () => {
    const error = await failureOf(connect(await write('export const ok = 1;\nexport default function (\n')));
    expect(error.boundary).toBe('environment');
    expect(error.message).toContain(`the environment ${basename(folder)}/environment.ts exited with code 1`);
    expect(error.message).toMatch(new RegExp(`${basename(folder)}/environment.ts:3:0`));
    expect(error.message).not.toContain(folder);
  });

  it('throws while it is loaded: the failure has its message, without a stack', async () => {
    const error = await failureOf(connect(await write("throw new Error('DATABASE_URL is not set');")));
    expect(error.message).toContain('exited with code 1');
    expect(error.message).toContain('DATABASE_URL is not set');
    expect(error.message).not.toMatch(/^\s+at /m);
    expect(error.message).not.toContain(folder);
  });

  it('exports nothing that is one: the failure says what to export', async () => {
    const error = await failureOf(connect(await write('export const nothing = 1;')));
    expect(error.message).toMatch(/exited with code 1.*default/s);
  });

  it('does not exist: the failure says so', async () => {
    const error = await failureOf(connect({ kind: 'module', path: join(folder, 'nowhere.ts') }));
    expect(error.message).toContain(`${basename(folder)}/nowhere.ts`);
  });

  it('never finishes loading: the limit ends it', async () => {
    const target = await write('setInterval(() => {}, 1000); await new Promise(() => {}); export {};');
    const error = await failureOf(connect(target, { timeoutMs: 1_000 }));
    expect(error.message).toMatch(
      /did not finish connecting within 1000 ms\. Its initialize hook, or loading its code,/,
    );
    expect(processesNamed(folder)).toEqual([]);
  });
});

describe('this process', () => {
  it('takes its environments with it when it exits', async () => {
    const marker = `exiting-parent-${process.pid}`;
    const parent = fixture('exiting-parent.ts');
    const output = execFileSync(process.execPath, ['--import', 'tsx', parent, fixture('faulty-server.mjs'), marker]);
    expect(output.toString()).toBe('connected\n');
    await until(() => processesNamed(marker).length === 0);
  });

  it('has no listener left when no environment runs', async () => {
    const before = process.listenerCount('exit');
    const clients = await Promise.all([connect(lively), connect(lively)]);
    expect(process.listenerCount('exit')).toBe(before + 1);
    await Promise.all(clients.map((client) => client.close()));
    expect(process.listenerCount('exit')).toBe(before);
  });
});
