import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, type Stats, statSync } from 'node:fs';

/** A folder on Linux and macOS that lists the open descriptors of the process. */
const DESCRIPTORS = '/dev/fd';
/** Number of descriptors to try when the machine has no such folder, as in a bare chroot. */
const TRIED_DESCRIPTORS = 4_096;
const HEAD_BYTES = 16;
const SQLITE_HEAD = 'SQLite format 3\0';

/** True for the `stat` result of a file that this process has open. */
type IsOpenHere = (file: Pick<Stats, 'dev' | 'ino'>) => boolean;

/**
 * Looks up the files that this process has open, by device and inode, so that links and other names make no difference.
 *
 * POSIX drops every lock that a process has on a file when the process closes any descriptor of that file. SQLite
 * protects its database with these locks. Reading the database of this process as a file would therefore let another
 * process delete its write-ahead log. The answer holds for the current turn of the event loop.
 */
export function filesOpenHere(): IsOpenHere {
  const open = new Set<string>();
  for (const descriptor of descriptors()) {
    const file = fileOf(descriptor);
    if (file?.isFile()) open.add(identityOf(file));
  }
  return (file) => open.has(identityOf(file));
}

/** True when this process has the file at the path open. False for a missing file: opening it reports the reason. */
export function isOpenHere(path: string): boolean {
  try {
    return filesOpenHere()(statSync(path));
  } catch {
    return false;
  }
}

/** A `database` is a file that this process has open, or one with the head of a SQLite file. */
type FileKind = 'database' | 'empty' | 'other';

/**
 * Tells databases from files that may be read, within one turn of the event loop, so that no database is opened here
 * meanwhile. An empty file is not opened, because SQLite may make a database of it.
 *
 * @throws the error of the file system.
 */
export function fileKind(path: string, isOpen: IsOpenHere): FileKind {
  const file = statSync(path);
  if (isOpen(file)) return 'database';
  if (file.size === 0) return 'empty';
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    const bytes = readSync(descriptor, head, 0, HEAD_BYTES, 0);
    return head.toString('latin1', 0, bytes) === SQLITE_HEAD ? 'database' : 'other';
  } finally {
    closeSync(descriptor);
  }
}

function descriptors(): readonly number[] {
  try {
    return readdirSync(DESCRIPTORS).map(Number);
  } catch {
    return Array.from({ length: TRIED_DESCRIPTORS }, (_, descriptor) => descriptor);
  }
}

/** Undefined for a closed descriptor, such as that of the folder itself. */
function fileOf(descriptor: number): Stats | undefined {
  try {
    return fstatSync(descriptor);
  } catch {
    return undefined;
  }
}

function identityOf({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): string {
  return `${dev}:${ino}`;
}
