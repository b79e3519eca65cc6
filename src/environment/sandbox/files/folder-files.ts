import type { Stats } from 'node:fs';
import { type FileHandle, lchown, lstat, readlink, rename, rm, symlink, unlink } from 'node:fs/promises';
import { newId } from '../../../support/runtime/new-id.ts';
import type { CopyLimits, FileContent, FileEntry, FileType } from '../engine.ts';
import { codeOf, type OpenFolder, type Owner, toNames, toPathError, withFolder } from './open-folder.ts';
import { namesIn, walkBelow } from './walk.ts';

const CHUNK_BYTES = 1024 * 1024;

/** A place in a folder of this machine: the folder, and the names from there on. */
export interface Place {
  readonly root: string;
  readonly names: readonly string[];
  /** The path as the caller knows it. */
  readonly shown: string;
}

/** Entry that is not followed; undefined if there is none. */
export async function statPlace(place: Place): Promise<FileEntry | undefined> {
  try {
    return await withEntry(place, async (folder, name) => toEntry(name, await lstat(folder.pathOf(name))));
  } catch (error) {
    if (error instanceof RangeError && isMissing(error.cause)) return undefined;
    throw error;
  }
}

/** @throws RangeError if it is no folder, or has more entries. */
export async function listPlace({ root, names, shown }: Place, maxEntries: number): Promise<readonly FileEntry[]> {
  return await withFolder(root, names, undefined, async (folder) => {
    const found: FileEntry[] = [];
    for (const name of await namesIn(folder, maxEntries, shown)) {
      const stats = await lstat(folder.pathOf(name)).catch(() => undefined);
      if (stats !== undefined) found.push(toEntry(name, stats));
    }
    return found;
  });
}

/** A file, a link, or a folder with all below it, parents first. Pipes, sockets and devices are passed over. */
export async function* getPlace(place: Place, limits: CopyLimits, signal: AbortSignal): AsyncGenerator<FileContent> {
  const { root, names, shown } = place;
  const budget = { bytes: limits.maxBytes };
  const own = await statPlace(place);
  if (own === undefined) throw new RangeError(`${JSON.stringify(shown)} does not exist`);
  if (own.type !== 'folder') {
    const { folder, name } = await openParent(place);
    try {
      const content = await readEntry(folder, name, '.', own, budget, shown, limits);
      if (content !== undefined) yield content;
    } finally {
      await folder.close();
    }
    return;
  }
  yield { name: '.', type: 'folder', mode: own.mode, uid: own.uid, gid: own.gid };
  const bounds = { maxEntries: limits.maxEntries, maxDepth: limits.maxDepth, shown };
  for await (const { path, name, folder, stats } of walkBelow(root, names, bounds)) {
    signal.throwIfAborted();
    const content = await readEntry(folder, name, path, toEntry(path, stats), budget, shown, limits);
    if (content !== undefined) yield content;
  }
}

interface Budget {
  bytes: number;
}

async function readEntry(
  folder: OpenFolder,
  name: string,
  path: string,
  { type, mode, uid, gid }: FileEntry,
  budget: Budget,
  shown: string,
  limits: CopyLimits,
): Promise<FileContent | undefined> {
  if (type === 'folder') return { name: path, type, mode, uid, gid };
  if (type === 'link') return { name: path, type, mode, uid, gid, target: await readlink(folder.pathOf(name)) };
  if (type === 'other') return undefined;
  const file = await folder.openFile(name).catch(async (error: unknown) => {
    throw await toPathError(folder, name, error, path === '.' ? shown : `${shown}/${path}`);
  });
  try {
    const content = await readWithin(file, budget.bytes);
    if (content === undefined) throw new RangeError(`${JSON.stringify(shown)} has more than ${limits.maxBytes} bytes`);
    budget.bytes -= content.length;
    return { name: path, type, mode, uid, gid, content };
  } finally {
    await file.close();
  }
}

/** Reads a file that may grow meanwhile. Undefined if it has more bytes. */
async function readWithin(file: FileHandle, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, maxBytes - total + 1));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
    if (bytesRead === 0) return Buffer.concat(chunks);
    total += bytesRead;
    if (total > maxBytes) return undefined;
    chunks.push(chunk.subarray(0, bytesRead));
  }
}

/** Writes entries below a folder. A file or link that is there is replaced, never written through. */
export async function putPlace(
  entries: AsyncIterable<FileContent> | Iterable<FileContent>,
  { root, names, shown }: Place,
  owner: Owner | undefined,
  signal: AbortSignal,
): Promise<void> {
  await withFolder(root, names, { owner }, async () => {});
  for await (const entry of entries) {
    signal.throwIfAborted();
    const below = toNames(entry.name);
    const last = below.at(-1);
    const at = [...names, ...below];
    if (entry.type === 'folder') {
      await withFolder(root, at, { owner }, async (folder) => await folder.give(undefined, entry.mode));
      continue;
    }
    if (last === undefined) throw new RangeError(`An entry for ${JSON.stringify(shown)} has no name`);
    await withFolder(root, at.slice(0, -1), { owner }, async (folder) => {
      await putEntry(folder, last, entry, owner).catch(async (error: unknown) => {
        throw await toPathError(folder, last, error, `${shown}/${entry.name}`);
      });
    });
  }
}

async function putEntry(folder: OpenFolder, name: string, entry: FileContent, owner: Owner | undefined): Promise<void> {
  const temporary = `.${newId()}`;
  const path = folder.pathOf(temporary);
  try {
    if (entry.type === 'link') {
      await symlink(entry.target ?? '', path);
      if (owner !== undefined) await lchown(path, owner.uid, owner.gid);
    } else {
      const file = await folder.createFile(temporary);
      try {
        await file.writeFile(entry.content ?? new Uint8Array());
        if (owner !== undefined) await file.chown(owner.uid, owner.gid);
        await file.chmod(entry.mode);
      } finally {
        await file.close();
      }
    }
    // A rename replaces a link itself.
    await rename(path, folder.pathOf(name));
  } catch (error) {
    await unlink(path).catch(() => {});
    throw error;
  }
}

/** Removes an entry with all below it. Links are removed, not followed. */
export async function removePlace(place: Place): Promise<void> {
  if ((await statPlace(place)) === undefined) return;
  await withEntry(place, async (folder, name) => await rm(folder.pathOf(name), { recursive: true, force: true }));
}

async function withEntry<T>(place: Place, use: (folder: OpenFolder, name: string) => Promise<T>): Promise<T> {
  const { root, names, shown } = place;
  const last = names.at(-1);
  if (last === undefined) return await withFolder(root, [], undefined, async (folder) => await use(folder, '.'));
  return await withFolder(root, names.slice(0, -1), undefined, async (folder) => {
    return await use(folder, last).catch(async (error: unknown) => {
      throw await toPathError(folder, last, error, shown);
    });
  });
}

async function openParent({ root, names }: Place): Promise<{ readonly folder: OpenFolder; readonly name: string }> {
  const parent = await withFolder(root, names.slice(0, -1), undefined, async (folder) => await folder.openFolder('.'));
  return { folder: parent, name: names.at(-1) ?? '.' };
}

function toEntry(name: string, stats: Stats): FileEntry {
  const type = typeOf(stats);
  const { mode, uid, gid } = stats;
  return { name, type, size: type === 'file' ? stats.size : 0, mode: mode & 0o7777, uid, gid };
}

function typeOf(stats: Stats): FileType {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'folder';
  return stats.isSymbolicLink() ? 'link' : 'other';
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';
}
