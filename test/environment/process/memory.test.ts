import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import { until } from '../../until.ts';
import { failureOf } from '../client/harness.ts';
import { isRunning } from '../client/processes.ts';

const PATH = fileURLToPath(new URL('./fixtures/clinging/environment.ts', import.meta.url));
const PATIENCE = { timeout: 60_000 };

async function connect(memoryMiB: number) {
  const client = await connectEnvironment({ kind: 'module', path: PATH, limits: { memoryMiB } });
  onTestFinished(() => client.close());
  return client;
}

// There is no /proc elsewhere: memory that is not in the heap has no limit there, and docs/security.md says so.
describe.skipIf(process.platform !== 'linux')('the memory of an environment', PATIENCE, () => {
  it('beyond its limit: it is killed, and the failure is its own, with the figure and the way out', async () => {
    const client = await connect(400);
    const { structured_content } = await client.call('cling', {});
    const pids = structured_content?.pids as number[];
    // It may be killed before it has answered.
    await client.call('hold', { mib: 600 }).catch(() => {});
    expect((await client.lost).boundary).toBe('environment');
    const error = await failureOf(client.tools());
    expect(error).toMatchObject({ boundary: 'environment', code: 'environment_failed' });
    const figure = Number(
      /used (\d+) MiB of memory with 4 processes, more than its limit of 400 MiB/.exec(error.message)?.[1],
    );
    expect(figure).toBeGreaterThan(400);
    expect(error.message).toContain('raise "memoryMiB" of the environment in proctor.config.ts');
    await until(() => !pids.some(isRunning));
  });

  it('counts what a process holds that left its group', async () => {
    const client = await connect(400);
    const { structured_content } = await client.call('hold_elsewhere', { mib: 800 });
    expect((await client.lost).message).toMatch(/used \d+ MiB of memory with 2 processes, more than its limit of 400/);
    await until(() => !isRunning(Number(structured_content?.pid)));
  });

  it('a full heap is a failure of the environment that says so', async () => {
    const client = await connect(200);
    const error = await failureOf(client.call('fill', {}));
    expect(error.boundary).toBe('environment');
    expect(error.message).toMatch(/memory.* limit of 200 MiB.*raise "memoryMiB"/s);
  });

  it('is not limited where its limit is 0', async () => {
    const client = await connect(0);
    expect(await client.call('hold', { mib: 600 })).toMatchObject({ is_error: false });
    expect(await client.call('hold', { mib: 1 })).toMatchObject({ is_error: false });
  });
});
