import { createHash } from 'node:crypto';

/** Shortest text that can be a key. */
const MIN_LENGTH = 8;
/** Characters around a key in JSON, an address or a list. */
const AROUND = /[\s"'`,;:@&?=<>(){}[\]]+/;

/** Digests of each variable's value and of its parts, by the variable's name. */
export type VariableDigests = Readonly<Record<string, readonly string[]>>;

/**
 * Digests that identify a known key without showing values. @param salt of this one look, so that two looks cannot be
 * compared.
 */
export function toVariableDigests(
  variables: Readonly<Record<string, string | undefined>>,
  salt: string,
): VariableDigests {
  const entries = Object.entries(variables).map(([name, value = '']) => {
    const parts = new Set([value.trim(), ...value.split(/\s+/), ...value.split(AROUND)]);
    return [name, [...parts].filter((part) => part.length >= MIN_LENGTH).map((part) => toDigest(part, salt))] as const;
  });
  return Object.fromEntries(entries);
}

export function toDigest(text: string, salt: string): string {
  return createHash('sha256').update(`${salt}\0${text}`).digest('hex');
}
