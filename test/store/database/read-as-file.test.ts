import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { hashEnvironmentCode } from '../../../src/environment/client/pool/module-hash.ts';
import { readTasksetFile } from '../../../src/evaluation/tasks/read-taskset-file.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createFileBytes } from '../../../src/store/formats/file-bytes.ts';
import { IMPORT_LIMITS } from '../../../src/store/formats/import-limits.ts';
import { Losses } from '../../../src/store/formats/losses.ts';
import { readTraces } from '../../../src/store/formats/read-file.ts';

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));

let folder: string;
const path = (name: string) => join(folder, name);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'proctor-held-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(path('environment.ts'), 'export default 1;');
});

async function openHere(file: string): Promise<Database> {
  const database = await openDatabase(`sqlite:${file}`);
  onTestFinished(() => database.close());
  return database;
}

/**
 * Asks in another process for a database alone, without a write-ahead log, which the locks of all others refuse.
 *
 * @returns the journal that it has then.
 */
function askAlone(file: string): string {
  const program = `import { DatabaseSync } from '@photostructure/sqlite';
    const database = new DatabaseSync(process.argv[1]);
    try { process.stdout.write(database.prepare('pragma journal_mode = delete').get().journal_mode); }
    catch (error) { process.stdout.write(error.message); }`;
  const args = ['--input-type=module', '--eval', program, file];
  return execFileSync(process.execPath, args, { cwd: REPOSITORY, timeout: 20_000, encoding: 'utf8' });
}

function expectLocked(file: string): void {
  expect(askAlone(file)).toBe('database is locked');
}

describe('the database of a process keeps its locks', () => {
  it.each(['proctor.db', 'data/store.sqlite', 'state', 'environment.json'])(
    'while the code of an environment is hashed that has it beside or below its module, as %s',
    async (name) => {
      mkdirSync(path('data'));
      const before = await hashEnvironmentCode(path('environment.ts'));
      await openHere(path(name));
      const after = await hashEnvironmentCode(path('environment.ts'));
      expectLocked(path(name));
      expect(after).toBe(before);
    },
  );

  it('while a folder is hashed that has it under another name', async () => {
    mkdirSync(path('elsewhere'));
    await openHere(path('elsewhere/proctor.db'));
    mkdirSync(path('code'));
    writeFileSync(path('code/environment.ts'), 'export default 1;');
    const before = await hashEnvironmentCode(path('code/environment.ts'));
    linkSync(path('elsewhere/proctor.db'), path('code/other'));
    symlinkSync(path('elsewhere/proctor.db'), path('code/link'));
    const after = await hashEnvironmentCode(path('code/environment.ts'));
    expectLocked(path('elsewhere/proctor.db'));
    expect(after).toBe(before);
  });

  it('when it is opened a second time in the process', async () => {
    await openHere(path('proctor.db'));
    await openHere(path('proctor.db'));
    expectLocked(path('proctor.db'));
  });

  it('when it is given as a file of traces, of tasks, or as the picture of a trace', async () => {
    await openHere(path('tasks.jsonl'));
    const imported = readAll(path('tasks.jsonl'));
    const read = readTasksetFile(path('tasks.jsonl'), { name: 'tasks', label: 'tasks.jsonl' });
    const reasons = (await Promise.allSettled([imported, read])).map(
      (result) => 'reason' in result && `${result.reason}`,
    );
    expectLocked(path('tasks.jsonl'));
    expect(reasons).toEqual([expect.stringMatching(/is open in this/), expect.stringMatching(/is open in this/)]);
    linkSync(path('tasks.jsonl'), path('picture.png'));
    expect(createFileBytes(path('trace.json'), IMPORT_LIMITS)('picture.png')).toBeUndefined();
    expectLocked(path('tasks.jsonl'));
  });
});

it('a database counts in no hash, whether the process has it open or another one', async () => {
  const before = await hashEnvironmentCode(path('environment.ts'));
  await (await openDatabase(`sqlite:${path('state')}`)).close();
  expect(await hashEnvironmentCode(path('environment.ts'))).toBe(before);
  await openHere(path('state'));
  expect(await hashEnvironmentCode(path('environment.ts'))).toBe(before);
});

const CONTEXT = { options: {}, losses: new Losses(), bytesAt: () => undefined };

async function readAll(file: string): Promise<void> {
  for await (const _ of readTraces(file, CONTEXT)) expect.unreachable();
}
