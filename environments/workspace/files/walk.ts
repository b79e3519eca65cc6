import { readdir } from 'node:fs/promises';
import type { OpenFolder } from './open-within.ts';

/** Folders that are listed but not entered: what they hold is not the agent's work. */
const CLOSED_FOLDERS: ReadonlySet<string> = new Set(['node_modules', '.git']);
const MAX_DEPTH = 32;

export interface WalkEntry {
  /** From the work directory. */
  readonly path: string;
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly folder: OpenFolder;
}

/**
 * Everything in a folder and below it in the order of names, a folder before what it holds. No link is followed, and what
 * cannot be opened is passed over. An entry's `folder` is open until the next one is asked for.
 */
export async function* walk(folder: OpenFolder, prefix: string, depth = 0): AsyncGenerator<WalkEntry, void> {
  const entries = await readdir(folder.path, { withFileTypes: true });
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const entry of entries) {
    const path = prefix === '' ? entry.name : `${prefix}/${entry.name}`;
    const kind = entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : entry.isSymbolicLink() ? 'link' : 'other';
    yield { path, name: entry.name, kind, folder };
    if (kind === 'folder' && !CLOSED_FOLDERS.has(entry.name) && depth < MAX_DEPTH) {
      yield* walkInto(folder, entry.name, path, depth + 1);
    }
  }
}

async function* walkInto(
  parent: OpenFolder,
  name: string,
  path: string,
  depth: number,
): AsyncGenerator<WalkEntry, void> {
  const folder = await parent.openFolder(name).catch(() => undefined);
  if (folder === undefined) return;
  try {
    yield* walk(folder, path, depth);
  } finally {
    await folder.close();
  }
}
