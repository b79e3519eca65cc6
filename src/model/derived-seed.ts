import { createHash } from 'node:crypto';

/**
 * The seed of one of several tries, 0 to 2³¹ − 1 (contract section 7, "Seed"): tries of other texts or other numbers have
 * others.
 */
export function derivedSeed(seed: number, text: string, index: number): number {
  return createHash('sha256').update(`${seed}\n${text}\n${index}`, 'utf8').digest().readUInt32BE(0) >>> 1;
}
