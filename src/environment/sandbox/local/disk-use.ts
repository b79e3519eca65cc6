import { walkBelow } from '../files/walk.ts';

/** Entries that one measurement looks at. More count as too many bytes. */
const BOUNDS = { maxEntries: 200_000, maxDepth: 512, shown: 'the sandbox' } as const;
const BLOCK_BYTES = 512;

/** Bytes that folders take on the disk. Counting ends beyond `most`, and at folders with too many or too deep entries. */
export async function usedBytes(paths: readonly string[], most: number): Promise<number> {
  let total = 0;
  for (const path of paths) {
    try {
      for await (const { stats } of walkBelow(path, [], BOUNDS)) {
        total += stats.blocks * BLOCK_BYTES;
        if (total > most) return total;
      }
    } catch (error) {
      if (error instanceof RangeError && error.cause === undefined) return Number.POSITIVE_INFINITY;
      // The sandbox is being removed.
    }
  }
  return total;
}
