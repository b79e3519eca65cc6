import type { FileChanges } from '../engine.ts';
import { walkBelow } from './walk.ts';

/** Bounds of a folder whose changes are told. */
const BOUNDS = { maxEntries: 200_000, maxDepth: 256 } as const;

/** Entries of a folder by their paths, each as a text that differs if the entry was changed. */
export type Manifest = ReadonlyMap<string, string>;

/** @throws RangeError if the folder has more than 200,000 entries. */
export async function readManifest(root: string, shown: string, signal: AbortSignal): Promise<Manifest> {
  const found = new Map<string, string>();
  for await (const { path, stats } of walkBelow(root, [], { ...BOUNDS, shown })) {
    signal.throwIfAborted();
    // Entries in a folder change its times, and are told themselves.
    const times = stats.isDirectory() ? '' : ` ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs} ${stats.ino}`;
    found.set(path, `${stats.mode}${times}`);
  }
  return found;
}

/** Differences of two manifests of one folder, as absolute paths inside. */
export function compareManifests(before: Manifest, after: Manifest, folder: string): FileChanges {
  const absolute = (paths: Iterable<string>) => [...paths].map((path) => `${folder === '/' ? '' : folder}/${path}`);
  const added = [...after.keys()].filter((path) => !before.has(path));
  const changed = [...after].flatMap(([path, state]) => (before.has(path) && before.get(path) !== state ? [path] : []));
  const removed = [...before.keys()].filter((path) => !after.has(path));
  return { added: absolute(added), changed: absolute(changed), removed: absolute(removed) };
}
