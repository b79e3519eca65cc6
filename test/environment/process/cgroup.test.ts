import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import { Script } from '../../processes.ts';
import { until } from '../../until.ts';
import { failureOf } from '../client/harness.ts';
import { isRunning } from '../client/processes.ts';

const PATH = fileURLToPath(new URL('./fixtures/clinging/environment.ts', import.meta.url));
const PATIENCE = { timeout: 60_000 };

const mount = cgroupMount();
if (mount === undefined)
  console.log('test/environment/process/cgroup.test.ts: there is no cgroup v2 here that this user may write to');

/** Where cgroups v2 can be made, which as a rule takes root. */
function cgroupMount(): string | undefined {
  try {
    const line = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((text) => text.split(' ')[2] === 'cgroup2');
    const path = line?.split(' ')[1];
    if (path !== undefined) accessSync(path, constants.W_OK);
    return path;
  } catch {
    return undefined;
  }
}

describe.skipIf(mount === undefined)('where PROCTOR_CGROUP names a directory of cgroup v2', PATIENCE, () => {
  let root: string;
  beforeEach(() => {
    root = join(mount ?? '', `proctor-test-${process.pid}`);
    mkdirSync(root);
    vi.stubEnv('PROCTOR_CGROUP', root);
  });
  afterEach(async () => {
    await until(() => groups().length === 0);
    rmdirSync(root);
  });
  const groups = () => readdirSync(root).filter((name) => name.startsWith('proctor-'));

  async function connect(memoryMiB?: number) {
    const limits = memoryMiB === undefined ? {} : { limits: { memoryMiB } };
    const client = await connectEnvironment({ kind: 'module', path: PATH, ...limits });
    onTestFinished(() => client.close());
    return client;
  }

  it('a run has one of its own, and what left its group without its variables ends with it', async () => {
    const client = await connect();
    const cling = (await client.call('cling', {})).structured_content?.pids as number[];
    const escaped = (await client.call('escape', {})).structured_content?.pids as number[];
    const pids = [...cling, ...escaped];
    const [group = ''] = groups();
    const members = readFileSync(join(root, group, 'cgroup.procs'), 'utf8')
      .trim()
      .split('\n')
      .map(Number);
    expect(members).toEqual(expect.arrayContaining(pids));
    await client.close();
    await until(() => !pids.some(isRunning));
  });

  it('it ends after a kill -9 of whoever started the environment', async () => {
    const parent = new Script(new URL('./fixtures/clinging-parent.ts', import.meta.url), [PATH, 'cling', 'escape']);
    await parent.said(1);
    const pids = JSON.parse(parent.lines[0] ?? '') as number[];
    expect(pids.filter(isRunning)).toHaveLength(5);
    await parent.kill();
    await until(() => !pids.some(isRunning));
  });

  it('its memory is limited by the kernel, where the directory has the controller', async () => {
    const controllers = readFileSync(join(root, 'cgroup.controllers'), 'utf8').split(/\s+/);
    if (!controllers.includes('memory')) {
      console.log('test/environment/process/cgroup.test.ts: cgroup v2 has no controller of memory here');
      return;
    }
    const client = await connect(300);
    await client.call('hold', { mib: 4_000 }).catch(() => {});
    expect(await client.lost).toMatchObject({ boundary: 'environment', message: expect.stringContaining('300 MiB') });
  });
});

describe('where PROCTOR_CGROUP names something else', PATIENCE, () => {
  it('no environment is started, and the failure says what to name', async () => {
    vi.stubEnv('PROCTOR_CGROUP', fileURLToPath(new URL('./nowhere', import.meta.url)));
    const error = await failureOf(connectEnvironment({ kind: 'module', path: PATH }));
    expect(error.message).toMatch(
      /PROCTOR_CGROUP is ".*nowhere", where no cgroup can be made: .*delegated to this user/,
    );
  });
});
