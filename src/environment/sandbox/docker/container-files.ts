import { posix } from 'node:path';
import { z } from 'zod';
import type { CopyLimits, FileContent, FileEntry, FileType } from '../engine.ts';
import { EngineError } from '../engine.ts';
import { readTar, type TarEntry } from '../files/tar.ts';
import { WORK_LIMIT_MS } from './api.ts';
import { type Container, type FileOwner, runScript } from './exec.ts';
import { isStatus } from './refusal.ts';
import { LIST_FOLDER, STAT_PATH } from './wrapper.ts';

const statSchema = z.object({
  name: z.string(),
  size: z.number(),
  mode: z.number(),
  linkTarget: z.string().optional(),
});
/** Bits of the modes of Go, in which the engines tell the types of files. */
const GO_FOLDER = 2 ** 31;
const GO_LINK = 2 ** 27;
/** Devices, named pipes, sockets, character devices. */
const GO_OTHERS = 0x07200000;
/** Types of files in the mode that `stat` prints, without the permission bits. */
const TYPES = new Map<number, FileType>([
  [0x8000, 'file'],
  [0x4000, 'folder'],
  [0xa000, 'link'],
]);

export interface PathStat {
  readonly type: FileType;
  readonly mode: number;
}

/** Type and mode of an entry, which the engine tells quickly. A link at the end is not followed. */
export async function statPath(
  { api, id }: Container,
  path: string,
  signal: AbortSignal,
): Promise<PathStat | undefined> {
  const call = { method: 'HEAD', path: `/containers/${id}/archive`, query: { path } } as const;
  try {
    const reply = await api.stream(call, signal);
    const header = reply.headers['x-docker-container-path-stat'];
    reply.resume();
    const text = Buffer.from(String(header ?? ''), 'base64').toString('utf8');
    const { mode } = statSchema.parse(JSON.parse(text));
    const has = (bit: number) => Math.floor(mode / bit) % 2 === 1;
    const isOther = (mode & GO_OTHERS) !== 0;
    const type = has(GO_LINK) ? 'link' : has(GO_FOLDER) ? 'folder' : isOther ? 'other' : 'file';
    return { type, mode: toUnixMode(mode) };
  } catch (error) {
    // A file in the middle of a path is a 500 of Docker.
    if (isStatus(error, 404, 500, 400)) return undefined;
    throw error instanceof SyntaxError || error instanceof z.ZodError
      ? new EngineError('protocol', `The container engine told nothing of ${path}`, { cause: error })
      : error;
  }
}

/** An entry with its owner. */
export async function statEntry(
  container: Container,
  path: string,
  signal: AbortSignal,
): Promise<FileEntry | undefined> {
  const found = await statPath(container, path, signal);
  if (found === undefined) return undefined;
  const name = posix.basename(path) || '/';
  const other = { name, type: found.type, size: 0, mode: found.mode, ...container.owner };
  if (!container.isEnding && (found.type === 'other' || (await tellsNoOwner(container, signal)))) {
    const { exitCode, stdout } = await runScript(container, { script: STAT_PATH, args: [path], user: '0' }, signal);
    return exitCode === 0 ? parseLine(stdout.toString('latin1'), name) : other;
  }
  if (found.type === 'other') return other;
  // Podman follows a link that is asked for, and not one that is found in a folder.
  const source = found.type === 'link' ? posix.dirname(path) : path;
  for await (const entry of archive(container, source, signal)) {
    if (found.type === 'link' && (entry.type !== 'link' || posix.basename(entry.name) !== name)) continue;
    const { size, mode } = entry;
    return {
      name,
      type: found.type,
      size: found.type === 'file' ? size : 0,
      mode,
      ...(await ownerOf(container, entry, signal)),
    };
  }
  return undefined;
}

/** Podman writes root as the owner of all files into its archives. */
async function tellsNoOwner({ api }: Container, signal: AbortSignal): Promise<boolean> {
  return (await api.version(signal)).kind === 'podman';
}

/** The owner of an entry of an archive; the user of the sandbox where the engine does not tell it. */
async function ownerOf(container: Container, { uid, gid }: FileOwner, signal: AbortSignal): Promise<FileOwner> {
  return (await tellsNoOwner(container, signal)) ? container.owner : { uid, gid };
}

/** The entries of a folder, by `stat` in the sandbox where it has that and runs, else from the archive of the folder. */
export async function listFolder(
  container: Container,
  path: string,
  maxEntries: number,
  signal: AbortSignal,
): Promise<readonly FileEntry[]> {
  const found = await statPath(container, path, signal);
  if (found?.type !== 'folder') throw new RangeError(`${path} is no folder of the sandbox`);
  const tooMany = () => new RangeError(`The folder ${path} has more than ${maxEntries} entries (maxEntries)`);
  if (!container.isEnding) {
    const request = { script: LIST_FOLDER, args: [path, String(maxEntries)], user: '0' };
    const { exitCode, stdout } = await runScript(container, request, signal);
    if (exitCode === 3) throw tooMany();
    if (exitCode === 0) return parseListing(stdout);
  }
  const entries: FileEntry[] = [];
  for await (const entry of archive(container, path, signal)) {
    const { name, type, size, mode } = entry;
    const [, child, ...deeper] = name.split('/');
    if (child === undefined || deeper.length > 0) continue;
    if (entries.length === maxEntries) throw tooMany();
    const isFile = type === 'file' || type === 'hardlink';
    entries.push({
      name: child,
      type: isFile ? 'file' : type,
      size,
      mode,
      ...(await ownerOf(container, entry, signal)),
    });
  }
  return entries;
}

/** A file, or a folder with all that is in it. */
export async function* getFiles(
  container: Container,
  path: string,
  limits: CopyLimits,
  signal: AbortSignal,
): AsyncGenerator<FileContent, void, undefined> {
  const found = await statPath(container, path, signal);
  if (found === undefined) throw new RangeError(`The sandbox has no file ${path}`);
  const isLink = found.type === 'link';
  const base = posix.basename(path);
  let bytes = 0;
  let count = 0;
  for await (const entry of archive(container, isLink ? posix.dirname(path) : path, signal)) {
    if (isLink && (entry.type !== 'link' || posix.basename(entry.name) !== base || entry.name.split('/').length > 2))
      continue;
    const inside = isLink ? [] : entry.name.split('/').slice(1);
    if (inside.includes('..'))
      throw new RangeError(`The archive of ${path} has the name ${JSON.stringify(entry.name)}`);
    count += 1;
    if (count > limits.maxEntries)
      throw new RangeError(`${path} has more than ${limits.maxEntries} entries (maxEntries)`);
    if (inside.length > limits.maxDepth)
      throw new RangeError(`${path} is deeper than ${limits.maxDepth} folders (maxDepth)`);
    const { mode } = entry;
    const { uid, gid } = await ownerOf(container, entry, signal);
    const name = inside.join('/') || '.';
    if (entry.type === 'link') yield { name, type: 'link', mode, uid, gid, target: entry.target };
    else if (entry.type === 'folder') yield { name, type: 'folder', mode, uid, gid };
    else if (entry.type === 'file' || entry.type === 'hardlink') {
      const left = limits.maxBytes - bytes;
      const tooLarge = new RangeError(`${path} has more than ${limits.maxBytes} bytes (maxBytes)`);
      const content =
        entry.type === 'file'
          ? await readContent(entry, left, tooLarge)
          : await readHardLink(container, path, entry, left, tooLarge, signal);
      bytes += content.length;
      yield { name, type: 'file', mode, uid, gid, content };
    }
    if (isLink) return;
  }
}

async function* archive(
  { api, id }: Container,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<TarEntry, void, undefined> {
  const call = { method: 'GET', path: `/containers/${id}/archive`, query: { path }, limitMs: WORK_LIMIT_MS } as const;
  const reply = await api.stream(call, signal).catch((error: unknown) => {
    if (isStatus(error, 404)) throw new RangeError(`The sandbox has no file ${path}`);
    throw error;
  });
  try {
    yield* readTar(reply);
  } catch (error) {
    if (!(error instanceof RangeError) && !signal.aborted) {
      throw new EngineError('lost', `The container engine broke off the copy of ${path}`, { cause: error });
    }
    throw error;
  } finally {
    reply.destroy();
  }
}

async function readContent(entry: TarEntry, left: number, tooLarge: RangeError): Promise<Buffer> {
  if (entry.size > left) throw tooLarge;
  const parts: Buffer[] = [];
  for await (const chunk of entry.content) parts.push(chunk);
  return Buffer.concat(parts);
}

/** The content of an entry that names an earlier one, which is asked for once more. */
async function readHardLink(
  container: Container,
  path: string,
  { target }: TarEntry,
  left: number,
  tooLarge: RangeError,
  signal: AbortSignal,
): Promise<Buffer> {
  const source = posix.join(posix.dirname(path), target);
  for await (const entry of archive(container, source, signal)) return await readContent(entry, left, tooLarge);
  throw new RangeError(`The sandbox has no file ${source}`);
}

function parseListing(bytes: Buffer): FileEntry[] {
  const end = bytes.indexOf('\n\n') === -1 ? bytes.indexOf('\n') : bytes.indexOf('\n\n') + 1;
  const lines = bytes
    .toString('latin1', 0, end)
    .split('\n')
    .filter((line) => line !== '');
  const names = bytes.toString('utf8', end + 1).split('\0');
  return lines.map((line, at) => parseLine(line, names[at] ?? ''));
}

function parseLine(line: string, name: string): FileEntry {
  const [mode = '0', size, uid, gid] = line.trim().split(' ');
  const bits = Number.parseInt(mode, 16);
  const type = TYPES.get(bits & 0xf000) ?? 'other';
  const owner = { uid: Number(uid), gid: Number(gid) };
  return { name, type, size: type === 'file' ? Number(size) : 0, mode: bits & 0o7777, ...owner };
}

/** Permission bits with set-user, set-group and sticky, which Go has elsewhere. */
function toUnixMode(mode: number): number {
  const has = (bit: number) => Math.floor(mode / 2 ** bit) % 2 === 1;
  return (mode & 0o777) | (has(23) ? 0o4000 : 0) | (has(22) ? 0o2000 : 0) | (has(20) ? 0o1000 : 0);
}
