import { readdir, realpath } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { TASKSET_ENDINGS } from './read-taskset-file.ts';

/** Name of the folder with the tasksets of a working directory. */
export const TASKSETS_FOLDER = 'tasksets';
const MAX_FILES = 10_000;
const MAX_DEPTH = 16;

/** A file with a taskset, in a working directory. */
export interface TasksetFile {
  /** Its path in the folder, without its ending, with `/` on every system. */
  readonly name: string;
  /** Absolute, without links. */
  readonly path: string;
  /** As messages name it: relative to the working directory. */
  readonly label: string;
}

/**
 * The taskset files of a working directory, in order of name. Hidden files and folders are left out, and links that lead
 * out of the folder.
 */
export async function findTasksetFiles(directory: string): Promise<readonly TasksetFile[]> {
  const root = await realpath(join(directory, TASKSETS_FOLDER)).catch(() => undefined);
  if (root === undefined) return [];
  const found: TasksetFile[] = [];
  await walk(root, '', found, { root, seen: new Set(), depth: 0 });
  return found.sort((a, b) => (a.label < b.label ? -1 : 1));
}

interface Walk {
  readonly root: string;
  /** Folders: a link may lead back to one. */
  readonly seen: Set<string>;
  readonly depth: number;
}

async function walk(folder: string, prefix: string, found: TasksetFile[], { root, seen, depth }: Walk): Promise<void> {
  if (depth > MAX_DEPTH || seen.has(folder)) return;
  seen.add(folder);
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (found.length >= MAX_FILES) return;
    if (/^\.|^node_modules$|\p{Cc}/u.test(entry.name)) continue;
    const path = entry.isSymbolicLink() ? await targetInside(root, join(folder, entry.name)) : join(folder, entry.name);
    if (path === undefined) continue;
    const isFolder = entry.isDirectory() || (entry.isSymbolicLink() && (await isDirectory(path)));
    if (isFolder) {
      await walk(path, `${prefix}${entry.name}/`, found, { root, seen, depth: depth + 1 });
      continue;
    }
    const ending = extname(entry.name);
    // A file of types declares what another one has.
    if (!TASKSET_ENDINGS.some((known) => known === ending) || /\.d\.m?ts$/.test(entry.name)) continue;
    const name = `${prefix}${entry.name.slice(0, -ending.length)}`;
    found.push({ name, path, label: `${TASKSETS_FOLDER}/${prefix}${entry.name}` });
  }
}

/** Undefined for a link that leads out of the folder, or nowhere. */
async function targetInside(root: string, path: string): Promise<string | undefined> {
  const target = await realpath(path).catch(() => undefined);
  if (target === undefined) return undefined;
  const way = relative(root, target);
  return way === '..' || way.startsWith(`..${sep}`) ? undefined : target;
}

async function isDirectory(path: string): Promise<boolean> {
  return await readdir(path).then(
    () => true,
    () => false,
  );
}
