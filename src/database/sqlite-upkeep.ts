import { existsSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { messageOf } from '../contract/errors.ts';

/** How long another process's transaction may keep this waiting, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000;
/** Pages that are given back in one transaction. */
const PAGES_AT_ONCE = 500;

/** The result of giving free space back to the file system. */
export interface ReclaimedSpace {
  /** Bytes by which the file has become smaller. */
  readonly bytes: number;
  /** Bytes inside of the file that are free and will be used again; of a file that cannot be shortened in pieces. */
  readonly keptBytes: number;
}

/**
 * Gives the space of deleted rows back to the file system, in short transactions: other processes go on. A file that was
 * made before this was possible keeps its size, and uses the space again; `isWhole` writes it anew, and then it is.
 *
 * @param isWhole writes the whole file anew: others cannot write meanwhile, and as much space is needed once more.
 */
export async function reclaimSpace(path: string, isWhole: boolean, signal?: AbortSignal): Promise<ReclaimedSpace> {
  const connection = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    const read = (name: string) => Number(Object.values(connection.prepare(`pragma ${name}`).get() ?? {})[0]);
    const pageBytes = read('page_size');
    const before = read('page_count'); // what is still in the journal among it
    if (isWhole) {
      connection.exec('pragma auto_vacuum = incremental');
      connection.exec('vacuum');
    }
    for (let free = read('freelist_count'); free > 0 && signal?.aborted !== true; ) {
      connection.exec(`pragma incremental_vacuum(${PAGES_AT_ONCE})`);
      const left = read('freelist_count');
      if (left >= free) break;
      free = left;
      await nextTurn();
    }
    connection.exec('pragma wal_checkpoint(passive)'); // shortens the file, unless somebody still reads an older state
    const bytes = Math.max(0, before - read('page_count')) * pageBytes;
    return { bytes, keptBytes: read('freelist_count') * pageBytes };
  } finally {
    connection.close();
  }
}

/**
 * Copies a database that may be in use into a new file: the state of one moment, checked, readable by its owner alone.
 * The schema is left as it is.
 *
 * @returns its bytes. @throws Error where there is no database, the file is there already, or the copy is not sound.
 */
export async function backUp(path: string, file: string): Promise<number> {
  if (!existsSync(path)) throw new Error(`There is no database at ${path}.`);
  if (existsSync(file)) throw new Error(`${file} is there already: name a new file.`);
  const partial = `${file}.partial`;
  try {
    await (await open(partial, 'wx', 0o600)).close();
  } catch (cause) {
    const isThere = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST';
    const remedy = isThere ? 'remove it, unless another backup is writing it' : messageOf(cause);
    throw new Error(`${partial} cannot be made: ${remedy}.`, { cause });
  }
  try {
    copyInto(path, partial);
    checkCopy(partial);
    const written = await open(partial, 'r+');
    await written.sync().finally(() => written.close());
    await rename(partial, file);
    return statSync(file).size;
  } catch (cause) {
    await rm(partial, { force: true });
    throw new Error(`The backup failed: ${messageOf(cause)}.`, { cause });
  }
}

/** Reads within one transaction, beside whoever writes. */
function copyInto(path: string, file: string): void {
  const connection = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    connection.prepare('vacuum into ?').run(file);
  } finally {
    connection.close();
  }
}

function checkCopy(file: string): void {
  const connection = new DatabaseSync(file, { readOnly: true });
  try {
    const said = Object.values(connection.prepare('pragma quick_check(1)').get() ?? {})[0];
    if (said !== 'ok') throw new Error(`the copy is not sound (${said})`);
  } finally {
    connection.close();
  }
}
