import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates a folder that only its owner may use, and its missing parents.
 *
 * @throws the error of the system. `recursive` of Node.js is not used, because in a read-only folder such as `/proc` it
 * would try forever.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return;
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await mkdir(path, { mode: 0o700 }).catch((again: unknown) => {
      if (codeOf(again) !== 'EEXIST') throw again;
    });
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
