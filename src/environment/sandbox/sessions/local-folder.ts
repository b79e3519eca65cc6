import { constants, type Dirent } from 'node:fs';
import { lstat, mkdir, open, opendir, readFile, readlink, symlink, unlink } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import type { CopyLimits, FileContent } from '../engine.ts';

/** Bounds of one copy between this machine and a sandbox. */
export const COPY_LIMITS: CopyLimits = { maxBytes: 1024 ** 3, maxEntries: 100_000, maxDepth: 64 };

/** Permission bits that are copied: no file of a sandbox gets the rights of its owner. */
const MODE_BITS = 0o777;

/**
 * The content of a local folder, parents first, or one file. Links are given as links, and sockets and devices are left
 * out.
 *
 * @throws RangeError that names the bound; the file system's error.
 */
export async function* readLocal(path: string, limits: CopyLimits = COPY_LIMITS): AsyncGenerator<FileContent> {
  const root = await lstat(path);
  if (!root.isDirectory()) {
    yield { name: basename(path), type: 'file', mode: root.mode & MODE_BITS, content: await readFile(path) };
    return;
  }
  const left = { bytes: limits.maxBytes, entries: limits.maxEntries };
  yield* readFolder(path, '', limits, left);
}

async function* readFolder(
  root: string,
  below: string,
  limits: CopyLimits,
  left: { bytes: number; entries: number },
): AsyncGenerator<FileContent> {
  if (below.split('/').length > limits.maxDepth) {
    throw new RangeError(`${root} has folders in more than ${limits.maxDepth} levels, at ${below}`);
  }
  const entries: Dirent[] = [];
  for await (const entry of await opendir(join(root, below))) {
    left.entries -= 1;
    if (left.entries < 0) throw new RangeError(`${root} has more than ${limits.maxEntries} files and folders`);
    entries.push(entry);
  }
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    const path = join(root, name);
    const { mode, size } = await lstat(path);
    if (entry.isDirectory()) {
      yield { name, type: 'folder', mode: mode & MODE_BITS };
      yield* readFolder(root, name, limits, left);
    } else if (entry.isSymbolicLink()) {
      yield { name, type: 'link', mode: MODE_BITS, target: await readlink(path) };
    } else if (entry.isFile()) {
      left.bytes -= size;
      if (left.bytes < 0) throw new RangeError(`The files of ${root} have more than ${limits.maxBytes} bytes`);
      yield { name, type: 'file', mode: mode & MODE_BITS, content: await readFile(path) };
    }
  }
}

/**
 * Writes entries below a local folder, which is made if it does not exist. Nothing is written through a link. A link that
 * leads out of the folder is left out.
 *
 * @returns the names of the links that were left out.
 * @throws RangeError for a name that leads out of the folder, or through a link; the file system's error.
 */
export async function writeLocal(entries: AsyncIterable<FileContent>, folder: string): Promise<readonly string[]> {
  const leftOut: string[] = [];
  await mkdir(folder, { recursive: true });
  for await (const entry of entries) {
    const { name, type, mode, content = new Uint8Array(), target = '' } = entry;
    if (name === '.' || name === '') continue;
    const parts = name.split('/');
    if (parts.some((part) => part === '' || part === '.' || part === '..' || part.includes(sep))) {
      throw new RangeError(`The sandbox has a file whose name leads out of its folder: ${JSON.stringify(name)}`);
    }
    const path = join(folder, ...parts);
    await makeFolders(folder, type === 'folder' ? parts : parts.slice(0, -1));
    if (type === 'file') await writeOver(path, content, mode & MODE_BITS);
    else if (type === 'link' && staysBelow(dirname(name), target)) {
      await removeOld(path);
      await symlink(target, path);
    } else if (type === 'link') leftOut.push(name);
  }
  return leftOut;
}

/** Makes folders one by one. @throws RangeError if a part is something else, such as a link. */
async function makeFolders(root: string, parts: readonly string[]): Promise<void> {
  let path = root;
  for (const part of parts) {
    path = join(path, part);
    await mkdir(path).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      if ((await lstat(path)).isDirectory()) return;
      throw new RangeError(`${path} is no folder, so that nothing is copied into it: remove it, or copy elsewhere`);
    });
  }
}

async function writeOver(path: string, content: Uint8Array, mode: number): Promise<void> {
  await removeOld(path);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    await file.writeFile(content);
    await file.chmod(mode);
  } finally {
    await file.close();
  }
}

/** Removes a file or a link that has the name already. A folder stays, and the write fails then. */
async function removeOld(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/**
 * True if a link in this folder leads to something below the root, also through other such links. `..` may stand at the
 * beginning alone: behind another name it could be the parent of a link's target.
 */
function staysBelow(folder: string, target: string): boolean {
  if (target === '' || target.startsWith('/') || target.includes('\0')) return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const ups = parts.findIndex((part) => part !== '..');
  const climbs = ups === -1 ? parts.length : ups;
  const depth = folder === '.' || folder === '' ? 0 : folder.split('/').length;
  return climbs <= depth && !parts.slice(climbs).includes('..');
}
