import { execFile } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createSqliteScans } from '../../../src/store/database/sqlite/sqlite-scans.ts';
import { builtFile } from '../../../src/support/runtime/built-file.ts';

// Processes start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 60_000 });

const builtUrl = (path: string) => pathToFileURL(builtFile(path)).href;

/** A file with a database, and the path of the file. */
async function openFile(): Promise<{ readonly database: Database; readonly path: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'proctor-scans-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'proctor.db');
  const database = await openDatabase(`sqlite:${path}`);
  onTestFinished(() => database.close());
  return { database, path };
}

/** Counts to the number, which takes SQLite some 100 ns for each step. */
const countTo = (steps: number) => sql<{ count: number }>`
  with recursive steps(at) as (select 1 union all select at + 1 from steps where at < ${steps})
  select count(*) as count from steps`;

test('the event loop goes on while a scan of a SQLite file runs', async () => {
  const { database } = await openFile();
  let turns = 0;
  let isDone = false;
  const turn = () => {
    turns += 1;
    if (!isDone) setImmediate(turn);
  };
  const counted = countTo(3_000_000).execute(database.scans);
  turn();
  const { rows } = await counted;
  isDone = true;
  expect(rows).toEqual([{ count: 3_000_000 }]);
  expect(turns).toBeGreaterThan(100);
});

test('a scan sees what was committed before it', async () => {
  const { database } = await openFile();
  for (const key of ['a', 'b', 'c']) {
    await database.kysely.insertInto('run_claims').values({ trace_id: key, key_id: key }).execute();
    const { rows } = await sql<{ count: number }>`select count(*) as count from run_claims`.execute(database.scans);
    expect(rows).toEqual([{ count: ['a', 'b', 'c'].indexOf(key) + 1 }]);
  }
});

test('a scan cannot write', async () => {
  const { database } = await openFile();
  await expect(sql`delete from traces`.execute(database.scans)).rejects.toThrow(/readonly/);
});

test('the caller of a scan over its limit is told that the store is busy, and the next scan is answered', async () => {
  const { path } = await openFile();
  const scans = createSqliteScans(path, { limitMs: 1 });
  onTestFinished(() => scans.destroy());
  await expect(countTo(2_000_000).execute(scans)).rejects.toMatchObject({ headers: { 'retry-after': '5' } });
  await expect
    .poll(
      async () =>
        (
          await countTo(3)
            .execute(scans)
            .catch(() => undefined)
        )?.rows,
      { timeout: 20_000 },
    )
    .toEqual([{ count: 3 }]);
});

test('a scan of a file that cannot be opened is refused as the store being away, and works once it can', async () => {
  const { path } = await openFile();
  const folder = dirname(path);
  const scans = createSqliteScans(path);
  onTestFinished(() => scans.destroy());
  renameSync(folder, `${folder}-away`);
  onTestFinished(() => rmSync(`${folder}-away`, { recursive: true, force: true }));
  await expect(countTo(3).execute(scans)).rejects.toMatchObject({ code: 'store_unavailable' });
  renameSync(`${folder}-away`, folder);
  expect((await countTo(3).execute(scans)).rows).toEqual([{ count: 3 }]);
});

test.each([
  ['is closed', 'await database.close();'],
  ['is left open, and its thread is idle', 'await running;'],
])('a process exits with 0, and at once, after a scan whose database %s', async (_case, then) => {
  const { path } = await openFile();
  const program = `
    import { execFileSync } from 'node:child_process';
    import { openDatabase } from ${JSON.stringify(builtUrl('store/database/open-database.js'))};
    import { sql } from 'kysely';
    const database = await openDatabase(${JSON.stringify(`sqlite:${path}`)});
    const countTo = (steps) => sql\`with recursive steps(at) as (select 1 union all select at + 1 from steps where at < \${steps})
      select count(*) as count from steps\`.execute(database.scans);
    await countTo(1); // The thread is up.
    const running = countTo(15_000_000).catch(() => {});
    execFileSync(process.execPath, ['--version']); // The thread is inside of SQLite.
    ${then}
    console.log('done');`;
  const ended = await new Promise((resolve) => {
    const options = { cwd: import.meta.dirname, timeout: 50_000 };
    const child = execFile(process.execPath, ['--input-type=module', '-e', program], options, (_error, stdout) =>
      resolve({ exitCode: child.exitCode, signal: child.signalCode, stdout }),
    );
  });
  expect(ended).toEqual({ exitCode: 0, signal: null, stdout: 'done\n' });
});

test('closing the database refuses a scan that runs', async () => {
  const { path } = await openFile();
  const scans = createSqliteScans(path);
  const refused = expect(countTo(3_000_000).execute(scans)).rejects.toThrow('The database was closed.');
  await new Promise((resolve) => setImmediate(resolve)); // the request is on its way
  await scans.destroy();
  await refused;
});
