import { posix } from 'node:path';
import { ToolError } from '../authoring/tool-result.ts';

/** The folder that a memory seems to be. */
export const ROOT = '/memories';
const MAX_FILES = 1_000;
const MAX_BYTES = 4 * 1024 * 1024;
const SHOWN_LEVELS = 2;

/** Text files that are kept in memory. A folder is there as long as it has files. */
export interface MemoryFiles {
  has(path: string): boolean;
  /** @throws ToolError if there is no such file. */
  read(path: string): string;
  write(path: string, text: string): void;
  /** Removes a file, or a folder with its files. */
  remove(path: string): void;
  rename(from: string, to: string): void;
  /** The folder itself and two levels below it, each with its size. Undefined if it is no folder. */
  list(path: string): readonly { readonly path: string; readonly size: number }[] | undefined;
}

export function newMemoryFiles(): MemoryFiles {
  const texts = new Map<string, string>();
  const below = (folder: string) => [...texts.keys()].filter((path) => path.startsWith(`${folder}/`));
  const missing = (path: string) => new ToolError(`The path ${path} does not exist. Please provide a valid path.`);
  const isThere = (full: string) => full === ROOT || texts.has(full) || below(full).length > 0;
  const sizeOf = (full: string) =>
    [full, ...below(full)].reduce((sum, path) => sum + Buffer.byteLength(texts.get(path) ?? ''), 0);
  const refuseFileAbove = (path: string, full: string) => {
    for (let above = posix.dirname(full); above !== ROOT && above !== '/'; above = posix.dirname(above)) {
      if (texts.has(above)) throw new ToolError(`${above} is a file, so ${path} cannot be in it`);
    }
  };
  return {
    has: (path) => isThere(fullPath(path)),
    read(path) {
      const text = texts.get(fullPath(path));
      if (text === undefined) throw missing(path);
      return text;
    },
    write(path, text) {
      const full = fullPath(path);
      if (full === ROOT) throw new ToolError(`${path} is the ${ROOT} directory, and no file`);
      refuseFileAbove(path, full);
      if (!texts.has(full) && texts.size >= MAX_FILES) {
        throw new ToolError(`The memory has ${MAX_FILES} files, which is its limit: delete some first`);
      }
      if (sizeOf(ROOT) - sizeOf(full) + Buffer.byteLength(text) > MAX_BYTES) {
        throw new ToolError(
          `The memory would have more than ${MAX_BYTES} bytes, which is its limit: delete some first`,
        );
      }
      texts.set(full, text);
    },
    remove(path) {
      const full = fullPath(path);
      if (full === ROOT) throw new ToolError(`Cannot delete the ${ROOT} directory itself`);
      if (!isThere(full)) throw missing(path);
      for (const each of [full, ...below(full)]) texts.delete(each);
    },
    rename(from, to) {
      const [old, next] = [fullPath(from), fullPath(to)];
      if (old === ROOT || !isThere(old)) throw missing(from);
      if (isThere(next)) throw new ToolError(`The destination ${to} already exists`);
      if (next.startsWith(`${old}/`)) throw new ToolError(`${from} cannot be moved into itself`);
      refuseFileAbove(to, next);
      for (const each of [old, ...below(old)]) {
        const text = texts.get(each);
        texts.delete(each);
        if (text !== undefined) texts.set(next + each.slice(old.length), text);
      }
    },
    list(path) {
      const full = fullPath(path);
      const files = below(full);
      if (full !== ROOT && files.length === 0) return undefined;
      const shown = files.flatMap((file) => {
        const names = file.slice(full.length + 1).split('/');
        const parts = names.slice(0, SHOWN_LEVELS).map((_name, index) => names.slice(0, index + 1));
        const isHidden = names.some((name) => name.startsWith('.') || name === 'node_modules');
        return isHidden ? [] : parts.map((part) => posix.join(full, ...part));
      });
      return [full, ...[...new Set(shown)].sort()].map((each) => ({ path: each, size: sizeOf(each) }));
    },
  };
}

/** @throws ToolError for a path that is not below the root. */
function fullPath(path: string): string {
  const full = posix.resolve('/', path);
  if (!path.includes('\0') && (full === ROOT || full.startsWith(`${ROOT}/`))) return full;
  throw new ToolError(`Path must start with ${ROOT}, got: ${path}`);
}
