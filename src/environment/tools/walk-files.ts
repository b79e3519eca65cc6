import { posix } from 'node:path';
import type { TextFiles } from './file-turns.ts';

const MAX_ENTRIES = 20_000;
const MAX_DEPTH = 32;
/** Folders of programs that hold what nobody searches for. */
const NOT_ENTERED: readonly string[] = ['.git', 'node_modules'];

export interface Walk {
  /** Paths of files below the folder, sorted. */
  readonly files: readonly string[];
  /** Set if not all was looked at: words that say so. */
  readonly note: string | undefined;
}

/** All files below a folder. Links are not followed, and `.git` and `node_modules` are not entered. */
export async function walkFiles(files: TextFiles, folder: string, signal: AbortSignal): Promise<Walk> {
  const found: string[] = [];
  const left: { readonly path: string; readonly depth: number }[] = [{ path: '', depth: 1 }];
  let seen = 0;
  let isCut = false;
  for (const { path, depth } of left) {
    signal.throwIfAborted();
    for (const { name, type } of await files.list(posix.join(folder, path), signal)) {
      seen += 1;
      const below = posix.join(path, name);
      if (type === 'file') found.push(below);
      else if (type === 'folder' && !NOT_ENTERED.includes(name)) {
        if (depth < MAX_DEPTH) left.push({ path: below, depth: depth + 1 });
        else isCut = true;
      }
    }
    if (seen > MAX_ENTRIES) {
      isCut = true;
      break;
    }
  }
  const note = `[not all was searched: more than ${MAX_ENTRIES} entries, or ${MAX_DEPTH} levels]`;
  return { files: found.sort(), note: isCut ? note : undefined };
}
