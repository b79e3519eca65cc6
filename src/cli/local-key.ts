import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isLoopbackHost } from '../http/origin-guard.ts';
import type { Installation } from './installation.ts';

const LOCAL_KEY_NAME = 'local';

/**
 * On the first start on loopback, while there is no key, one named `local` is made and kept in `.proctor/key`, readable
 * by its owner alone (contract section 3).
 */
export async function ensureLocalKey(installation: Installation, host: string): Promise<void> {
  if (isLoopbackHost(host) && !(await installation.accounts.hasKeys())) await keepNewKey(installation, LOCAL_KEY_NAME);
}

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
  rmSync(file, { force: true }); // An old file would keep its mode.
  writeFileSync(file, `${key}\n`, { mode: 0o600, flag: 'wx' });
  return key;
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
