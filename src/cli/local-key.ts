import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Project } from '../config/project.ts';
import { DEFAULT_DATABASE_URL, keyFileOf } from '../database/key-file.ts';
import { isLoopbackHost } from '../http/origin-guard.ts';
import type { Installation } from './installation.ts';
import { note } from './terminal.ts';

const LOCAL_KEY_NAME = 'local';

/**
 * On the first start on loopback, while the database has no key, one named `local` is made and kept in the key file of the
 * database, readable by its owner alone (contract section 3). A kept key that the database does not have is reported, or
 * there would be nothing but 401.
 */
export async function ensureLocalKey(installation: Installation, host: string): Promise<void> {
  if (!isLoopbackHost(host)) return;
  const { accounts } = installation;
  if (!(await accounts.hasKeys())) {
    await keepNewKey(installation, LOCAL_KEY_NAME);
    return;
  }
  await adoptKey(installation);
  const kept = readKey(installation);
  if (kept !== undefined && (await accounts.verifyKey(kept)) === undefined) note(`${foreignKey(installation)}.`);
}

/** Where the key of the configured database is kept, relative to the working directory. */
export function localKeyFile({ settings, directory }: Pick<Project, 'settings' | 'directory'>): string {
  return keyFileOf(settings.databaseUrl, directory);
}

/** The key that is kept for the configured database; undefined where there is none. */
export function readKey(project: Pick<Project, 'settings' | 'directory'>): string | undefined {
  return readText(join(project.directory, localKeyFile(project)));
}

/** The message for a kept key that the database does not have. */
export function foreignKey(project: Pick<Project, 'settings' | 'directory'>): string {
  return `The key in ${localKeyFile(project)} is not in force in this database: put its own back, or make one with "proctor keys create --name <name>"`;
}

/** The key of the database's key file; where there is none in force, a new one that is kept there. */
export async function localKey(installation: Installation): Promise<string> {
  await adoptKey(installation);
  const kept = readKey(installation);
  if (kept !== undefined && (await installation.accounts.verifyKey(kept)) !== undefined) return kept;
  const isFirst = !(await installation.accounts.hasKeys());
  return keepNewKey(installation, isFirst ? LOCAL_KEY_NAME : `${LOCAL_KEY_NAME}-${Date.now().toString(36)}`);
}

async function keepNewKey(installation: Installation, name: string): Promise<string> {
  const { key } = await installation.accounts.createKey({ name });
  const file = localKeyFile(installation);
  // A database in memory is gone: there is no key to put aside.
  if (installation.settings.databaseUrl !== 'sqlite::memory:') putAside(installation, file);
  write(installation, file, key);
  return key;
}

/** Where every database had its key in one file, that file may hold the key of this one. */
async function adoptKey(installation: Installation): Promise<void> {
  const file = localKeyFile(installation);
  if (existsSync(join(installation.directory, file))) return;
  const key = readText(join(installation.directory, keyFileOf(DEFAULT_DATABASE_URL, installation.directory)));
  if (key === undefined || (await installation.accounts.verifyKey(key)) === undefined) return;
  write(installation, file, key);
}

function write({ directory }: Installation, file: string, key: string): void {
  const path = join(directory, file);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, `${key}\n`, { mode: 0o600 });
}

/** A file that was restored, or removed and made again: the key before may be the only one that somebody has. */
function putAside({ directory }: Installation, file: string): void {
  const path = join(directory, file);
  if (!existsSync(path)) return;
  const aside = `${file}.${new Date().toISOString().replaceAll(/[-:]/g, '')}`;
  renameSync(path, join(directory, aside));
  chmodSync(join(directory, aside), 0o600);
  note(`This database has no key yet: a new one is in ${file}, the one before in ${aside}.`);
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}
