import { createHash } from 'node:crypto';

/**
 * The seed of one try, 0 to 2³¹ − 1 (contract section 7, "Seed"). Another text or index gives another seed.
 */
export function derivedSeed(seed: number, text: string, index: number): number {
  return createHash('sha256').update(`${seed}\n${text}\n${index}`, 'utf8').digest().readUInt32BE(0) >>> 1;
}
