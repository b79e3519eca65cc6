import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Project } from '../../service/config/project.ts';
import type { Installation } from '../../service/runs/installation.ts';
import { DEFAULT_DATABASE_URL, keyFileOf } from '../../store/database/key-file.ts';
import { isLoopbackHost } from '../../support/http/origin-guard.ts';
import { note } from './terminal.ts';

const LOCAL_KEY_NAME = 'local';

/**
 * Creates a key named `local` at the first start on loopback, if the database has no key. It is stored in the key file
 * of the database, which only its owner can read (contract section 3). A stored key that the database does not know is
 * reported, since every request with it would get 401.
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

/** Path of the key file of the configured database, relative to the working directory. */
export function localKeyFile({ settings, directory }: Pick<Project, 'settings' | 'directory'>): string {
  return keyFileOf(settings.databaseUrl, directory);
}

/** Reads the stored key of the configured database; undefined if there is none. */
export function readKey(project: Pick<Project, 'settings' | 'directory'>): string | undefined {
  return readText(join(project.directory, localKeyFile(project)));
}

/** Message for a stored key that the database does not know. */
export function foreignKey(project: Pick<Project, 'settings' | 'directory'>): string {
  return `The key in ${localKeyFile(project)} is not in force in this database: put its own back, or make one with "proctor keys create --name <name>"`;
}

/** Reads the key from the key file of the database. Without a valid key it stores a new one. */
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
  // The old database in memory no longer exists, so its key is useless.
  if (installation.settings.databaseUrl !== 'sqlite::memory:') putAside(installation, file);
  write(installation, file, key);
  return key;
}

/** Takes over the key of the older key file, which all databases shared. */
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

/** Renames the old key file, since it may be the only copy of a key. */
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
