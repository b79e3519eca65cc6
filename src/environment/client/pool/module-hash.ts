import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileKind, filesOpenHere } from '../../../support/runtime/open-files.ts';
import type { EnvironmentTarget } from '../environment-client.ts';

/** Limits of the files that are read, because a module may lie in a large folder, such as a home directory. */
const MAX_FILES = 5_000;
const MAX_BYTES = 64 * 1024 * 1024;
/** Number of files whose type is checked in one turn of the event loop. */
const FILES_AT_ONCE = 64;
/** Names of databases and of SQLite's files beside them. These are never opened. */
const DATABASE_NAME = /\.(?:db|db3|sqlite|sqlite3)$|-(?:wal|shm|journal)$/i;

interface CodeFile {
  /** Path relative to the environment's directory, with `/` as separator. */
  readonly name: string;
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly dev: number;
  readonly ino: number;
}

interface CodeHash {
  readonly stamp: string;
  readonly hash: string;
}

const hashes = new Map<string, CodeHash>();
/** Walks through directories in progress, and the walks that follow them. */
const walks = new Map<string, Promise<string>>();
const nextWalks = new Map<string, Promise<string>>();

/**
 * The SHA-256 in hex of an environment's code: names and bytes of all files in the module's directory, sorted by name,
 * without `node_modules` and names that start with a dot. The same files give the same hash on every machine.
 *
 * SQLite databases are data and are left out. The database of this process is never opened as a file, because closing
 * the file would release SQLite's locks (`filesOpenHere`).
 *
 * The bytes are read again only if a file was added, removed or written since. At most 5,000 files and 64 MiB are read.
 * A file beyond 64 MiB counts by its name and size.
 *
 * @param path is the path of the environment's module.
 * @throws the file system's error if the directory cannot be read.
 */
export async function hashEnvironmentCode(path: string): Promise<string> {
  const directory = dirname(path);
  const walk = walks.get(directory);
  if (walk === undefined) return await startWalk(directory);
  // The walk in progress may have passed a file before it was written. All callers that arrive meanwhile share the next
  // walk.
  const known = nextWalks.get(directory);
  if (known !== undefined) return await known;
  const next = walk
    .catch(() => {})
    .then(() => {
      nextWalks.delete(directory);
      return startWalk(directory);
    });
  nextWalks.set(directory, next);
  return await next;
}

function startWalk(directory: string): Promise<string> {
  const walk = hashDirectory(directory).finally(() => walks.delete(directory));
  walks.set(directory, walk);
  return walk;
}

async function hashDirectory(directory: string): Promise<string> {
  const files = await listFiles(directory);
  const stamp = toStamp(files);
  const known = hashes.get(directory);
  if (known?.stamp === stamp) return known.hash;
  const hash = await hashFiles(files);
  hashes.set(directory, { stamp, hash });
  return hash;
}

/**
 * The hash of a target's code. For a command, it covers the command line and the directory of the first file named in
 * it, if that directory is a folder below the working directory. Null if the target has no local code or the code
 * cannot be found: an address, an object in memory, an installed program, an unreadable directory.
 */
export async function hashTargetCode(target: EnvironmentTarget): Promise<string | null> {
  try {
    if (target.kind === 'module') return await hashEnvironmentCode(target.path);
    return target.kind === 'command' ? await hashCommand(target) : null;
  } catch {
    return null; // A file that cannot be read makes the start fail too, with a better message.
  }
}

async function hashCommand({ command, args, cwd = process.cwd() }: CommandTarget): Promise<string | null> {
  for (const [index, argument] of args.entries()) {
    const path = resolve(cwd, argument);
    const folder = relative(cwd, dirname(path));
    if (folder === '' || folder.startsWith('..') || folder.split(sep).includes('node_modules')) continue;
    if (!(await isFile(path))) continue;
    // The path of the file differs between machines, but its name and the other arguments do not.
    const line = [basename(command), ...args.with(index, basename(path))];
    const code = await hashEnvironmentCode(path);
    return createHash('sha256')
      .update(JSON.stringify([line, code]))
      .digest('hex');
  }
  return null;
}

type CommandTarget = Extract<EnvironmentTarget, { kind: 'command' }>;

async function isFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function listFiles(directory: string): Promise<readonly CodeFile[]> {
  const files: CodeFile[] = [];
  const folders = [''];
  for (let folder = folders.shift(); folder !== undefined && files.length < MAX_FILES; folder = folders.shift()) {
    const entries = await readdir(join(directory, folder), { withFileTypes: true });
    for (const entry of entries) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules' || DATABASE_NAME.test(entry.name)) continue;
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) folders.push(name);
      else if (entry.isFile() && files.length < MAX_FILES) files.push(await toCodeFile(directory, name));
    }
  }
  const isOpen = filesOpenHere();
  return files.filter((file) => !isOpen(file)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function toCodeFile(directory: string, name: string): Promise<CodeFile> {
  const path = join(directory, name);
  const { size, mtimeMs, dev, ino } = await stat(path);
  return { name, path, size, mtimeMs, dev, ino };
}

/** A hash that changes if a file is added, removed or written. */
function toStamp(files: readonly CodeFile[]): string {
  const stamp = createHash('sha256');
  for (const { name, size, mtimeMs } of files) stamp.update(`${name}\0${size}\0${mtimeMs}\0`);
  return stamp.digest('hex');
}

async function hashFiles(files: readonly CodeFile[]): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  for (let start = 0; start < files.length; start += FILES_AT_ONCE) {
    const isOpen = filesOpenHere();
    const found = files
      .slice(start, start + FILES_AT_ONCE)
      .map((file) => ({ ...file, kind: fileKind(file.path, isOpen) }));
    for (const { name, path, size, kind } of found) {
      if (kind === 'database') continue;
      hash.update(`${name}\0${size}\0`);
      bytes += size;
      if (bytes <= MAX_BYTES && kind !== 'empty') hash.update(await readFile(path));
    }
  }
  return hash.digest('hex');
}
