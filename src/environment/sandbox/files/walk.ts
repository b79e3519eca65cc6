import type { Stats } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { type OpenFolder, withFolder } from './open-folder.ts';

export interface WalkedEntry {
  /** Path below the folder where the walk began. */
  readonly path: string;
  readonly name: string;
  readonly stats: Stats;
  /** The folder of the entry. It is open until the next entry is asked for. */
  readonly folder: OpenFolder;
}

export interface WalkBounds {
  readonly maxEntries: number;
  readonly maxDepth: number;
  /** The folder as the caller knows it. */
  readonly shown: string;
}

/**
 * All that is below a folder in the order of names, a folder before its entries. No link is followed. Entries that go
 * away meanwhile are passed over.
 *
 * @throws RangeError that names the bound, if there are more or deeper entries.
 */
export async function* walkBelow(
  root: string,
  names: readonly string[],
  bounds: WalkBounds,
): AsyncGenerator<WalkedEntry, void> {
  // One folder holds the root of the walk; each level opens its own.
  const start = await withFolder(root, names, undefined, async (folder) => await folder.openFolder('.'));
  const left = { entries: bounds.maxEntries };
  try {
    yield* walk(start, '', 1, left, bounds);
  } finally {
    await start.close();
  }
}

async function* walk(
  folder: OpenFolder,
  prefix: string,
  depth: number,
  left: { entries: number },
  bounds: WalkBounds,
): AsyncGenerator<WalkedEntry, void> {
  const { maxEntries, maxDepth, shown } = bounds;
  const names = await namesIn(folder, left.entries, shown, maxEntries);
  if (names.length > 0 && depth > maxDepth) {
    throw new RangeError(`${JSON.stringify(shown)} has folders that are more than ${maxDepth} levels deep`);
  }
  left.entries -= names.length;
  for (const name of names) {
    const stats = await lstat(folder.pathOf(name)).catch(() => undefined);
    if (stats === undefined) continue;
    const path = prefix === '' ? name : `${prefix}/${name}`;
    yield { path, name, stats, folder };
    if (!stats.isDirectory()) continue;
    const inner = await folder.openFolder(name).catch(() => undefined);
    if (inner === undefined) continue;
    try {
      yield* walk(inner, path, depth + 1, left, bounds);
    } finally {
      await inner.close();
    }
  }
}

/** Sorted names in a folder. @throws RangeError if it has more than `most`. */
export async function namesIn(
  folder: OpenFolder,
  most: number,
  shown: string,
  limit: number = most,
): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(folder.path)) {
    if (names.length >= most) throw new RangeError(`${JSON.stringify(shown)} has more than ${limit} entries`);
    names.push(name);
  }
  return names.sort();
}
