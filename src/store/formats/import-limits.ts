import { FormatError } from './imported-trace.ts';

const MIB = 1024 * 1024;

/** Limits of imports (contract section 11, "Limits"). An error names the limit that was exceeded. */
export const IMPORT_LIMITS = {
  fileBytes: 256 * MIB,
  memberBytes: 256 * MIB,
  unpackedBytes: 1024 * MIB,
  depth: 256,
  /**
   * Largest number of objects and lists in a document. Our choice: `{}` is two bytes in a file but many more in memory.
   */
  values: 16_000_000,
  samples: 100_000,
  /** Largest number of members of a zip. Our choice: a large sample has several. */
  members: 500_000,
} as const;
export type ImportLimits = { readonly [Name in keyof typeof IMPORT_LIMITS]: number };

function sizeText(bytes: number): string {
  return bytes >= MIB ? `${Math.floor(bytes / MIB)} MiB` : `${bytes} bytes`;
}

export function tooLarge(name: string, limit: number): FormatError {
  return new FormatError(`${name} is larger than ${sizeText(limit)}, which is the limit.`);
}
