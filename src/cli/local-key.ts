import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isLoopbackHost } from '../http/origin-guard.ts';
import type { Installation } from './installation.ts';
import { note } from './terminal.ts';

const LOCAL_KEY_NAME = 'local';

/**
 * On the first start on loopback, while there is no key, one named `local` is made and kept in `.proctor/key`, readable
 * by its owner alone (contract section 3). A key that is kept there of another database is told, or nothing but 401 would be.
 */
export async function ensureLocalKey(installation: Installation, host: string): Promise<void> {
  if (!isLoopbackHost(host)) return;
  const { accounts } = installation;
  if (!(await accounts.hasKeys())) {
    await keepNewKey(installation, LOCAL_KEY_NAME);
    return;
  }
  const kept = readKey(installation);
  if (kept !== undefined && (await accounts.verifyKey(kept)) === undefined) note(`${FOREIGN_KEY}.`);
}

/** What to tell of a kept key that the database does not have. */
export const FOREIGN_KEY =
  'The key in .proctor/key is not in force in this database: put its own back (a first start moves the one before to .proctor/key.<time>), or make one with "proctor keys create --name <name>"';

/** The key in `.proctor/key`; where there is none in force, a new one that is kept there. */
export async function localKey(installation: Installation): Promise<string> {
  const kept = readKey(installation);
  if (kept !== undefined && (await installation.accounts.verifyKey(kept)) !== undefined) return kept;
  const isFirst = !(await installation.accounts.hasKeys());
  return keepNewKey(installation, isFirst ? LOCAL_KEY_NAME : `${LOCAL_KEY_NAME}-${Date.now().toString(36)}`);
}

async function keepNewKey(installation: Installation, name: string): Promise<string> {
  const { key } = await installation.accounts.createKey({ name });
  const file = keyFile(installation);
  mkdirSync(join(installation.directory, '.proctor'), { recursive: true, mode: 0o700 });
  putAside(file);
  writeFileSync(file, `${key}\n`, { mode: 0o600, flag: 'wx' });
  return key;
}

/** The key of another database is the only one that somebody has of it. */
function putAside(file: string): void {
  if (!existsSync(file)) return;
  const aside = `${file}.${new Date().toISOString().replaceAll(/[-:]/g, '')}`;
  renameSync(file, aside);
  chmodSync(aside, 0o600);
  note(
    `This database has no key of ours yet: a new one is in .proctor/key, the one before in .proctor/${basename(aside)}.`,
  );
}

function readKey(installation: Installation): string | undefined {
  try {
    return readFileSync(keyFile(installation), 'utf8').trim();
  } catch {
    return undefined;
  }
}

function keyFile({ directory }: Installation): string {
  return join(directory, '.proctor', 'key');
}
