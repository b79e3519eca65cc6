import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import type { EnvironmentTarget } from './environment-client.ts';

/** A module may lie in a folder that is not its own, such as a home: what lies beyond these is not read. */
const MAX_FILES = 5_000;
const MAX_BYTES = 64 * 1024 * 1024;

interface CodeFile {
  /** Relative to the environment's directory, with `/`. */
  readonly name: string;
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
}

interface Hashed {
  readonly stamp: string;
  readonly hash: string;
}

const hashes = new Map<string, Hashed>();
/** Walks of directories that go on, and the walks that follow them. */
const walks = new Map<string, Promise<string>>();
const nextWalks = new Map<string, Promise<string>>();

/**
 * The code of an environment as one SHA-256, in hex: names and bytes of the files of the module's directory, sorted by
 * name, without `node_modules` and whatever starts with a dot. The same files give the same hash on every machine.
 *
 * The bytes are read again only when a file was added, removed or written since. At most 5,000 files are counted, and 64 MiB
 * of them read; a file beyond that counts by its name and size.
 *
 * @param path the environment's module.
 * @throws the file system's error when the directory cannot be read.
 */
export async function hashEnvironmentCode(path: string): Promise<string> {
  const directory = dirname(path);
  const walk = walks.get(directory);
  if (walk === undefined) return await startWalk(directory);
  // It may have passed a file that was written since. All who ask meanwhile share the next one.
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
 * The same for a target. Of a command it is the hash of its line and of the directory of the first file in it, where
 * that is a folder below the working directory. Null where a target has no code of its own here, or none that can be
 * told: an address, an object in memory, a program that is installed, a directory that cannot be read.
 */
export async function hashTargetCode(target: EnvironmentTarget): Promise<string | null> {
  try {
    if (target.kind === 'module') return await hashEnvironmentCode(target.path);
    return target.kind === 'command' ? await hashCommand(target) : null;
  } catch {
    return null; // A file that cannot be read cannot be started either, and the start has a better message.
  }
}

async function hashCommand({ command, args, cwd = process.cwd() }: CommandTarget): Promise<string | null> {
  for (const [index, argument] of args.entries()) {
    const path = resolve(cwd, argument);
    const folder = relative(cwd, dirname(path));
    if (folder === '' || folder.startsWith('..') || folder.split(sep).includes('node_modules')) continue;
    if (!(await isFile(path))) continue;
    // Where the file lies differs from machine to machine, what is said beside it does not.
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
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) folders.push(name);
      else if (entry.isFile() && files.length < MAX_FILES) files.push(await toCodeFile(directory, name));
    }
  }
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function toCodeFile(directory: string, name: string): Promise<CodeFile> {
  const path = join(directory, name);
  const { size, mtimeMs } = await stat(path);
  return { name, path, size, mtimeMs };
}

/** Changes whenever a file is added, removed or written. */
function toStamp(files: readonly CodeFile[]): string {
  const stamp = createHash('sha256');
  for (const { name, size, mtimeMs } of files) stamp.update(`${name}\0${size}\0${mtimeMs}\0`);
  return stamp.digest('hex');
}

async function hashFiles(files: readonly CodeFile[]): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  for (const { name, path, size } of files) {
    hash.update(`${name}\0${size}\0`);
    bytes += size;
    if (bytes <= MAX_BYTES) hash.update(await readFile(path));
  }
  return hash.digest('hex');
}
