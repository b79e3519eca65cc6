import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ChildPool } from '../../../src/environment/dev/child-pool.ts';
import { until } from '../../until.ts';
import { isRunning } from '../client/processes.ts';

it('a process whose module is still being loaded ends with the pool', { timeout: 20_000 }, async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'pool-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'module.mjs');
  await writeFile(path, "console.error('pid ' + process.pid);\nawait new Promise((done) => setTimeout(done, 1e9));\n");
  const lines: string[] = [];
  const pool = new ChildPool({
    path,
    variables: {},
    harnessKey: undefined,
    onLine: (line) => lines.push(line),
    onFiles: () => {},
    keepsLoaded: false,
  });
  const renewal = pool.renew();
  const pid = await until(() => Number(/^pid (\d+)$/m.exec(lines.join('\n'))?.[1] ?? Number.NaN) || false);
  await pool.close();
  expect(await renewal).toBe(false);
  expect(isRunning(pid)).toBe(false);
  await expect(pool.take(1_000)).rejects.toThrow('The server is closed');
});
