import { existsSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { messageOf } from '../../../contract/errors.ts';

/** Milliseconds to wait for another process's transaction. */
const BUSY_TIMEOUT_MS = 5_000;
/** Largest number of pages that are freed in one transaction. */
const PAGES_AT_ONCE = 500;

/** The result of giving free space back to the file system. */
export interface ReclaimedSpace {
  /** Number of bytes by which the file has shrunk. */
  readonly bytes: number;
  /** Free bytes inside of a file that cannot shrink in pieces. New rows will use them. */
  readonly keptBytes: number;
}

/**
 * Returns the space of deleted rows to the file system, in short transactions that let other processes go on. A file
 * from an older version cannot shrink in pieces: it keeps its size and uses the space again. `isWhole` rewrites it, and
 * later calls can then shrink it.
 *
 * @param isWhole rewrites the whole file. Others cannot write meanwhile, and the disk needs as much free space again.
 */
export async function reclaimSpace(path: string, isWhole: boolean, signal?: AbortSignal): Promise<ReclaimedSpace> {
  const connection = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    const read = (name: string) => Number(Object.values(connection.prepare(`pragma ${name}`).get() ?? {})[0]);
    const pageBytes = read('page_size');
    const before = read('page_count'); // The count includes pages in the journal.
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
    // A checkpoint shortens the file, unless a reader still uses an older state.
    connection.exec('pragma wal_checkpoint(passive)');
    const bytes = Math.max(0, before - read('page_count')) * pageBytes;
    return { bytes, keptBytes: read('freelist_count') * pageBytes };
  } finally {
    connection.close();
  }
}

/**
 * Copies a database, which may be in use, into a new file that only its owner can read. The copy is the state of one
 * moment and is verified. The schema is not changed.
 *
 * @returns the number of bytes of the copy. @throws Error when there is no database, the file exists, or the copy is
 * corrupt.
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

/** Copies within one read transaction, which does not block writers. */
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
