/** A word, number, name or id of a text. */
export interface Token {
  readonly text: string;
  /** The text of a common word, else the kind of the token. Two names, or two numbers, have equal shapes. */
  readonly shape: string;
  /** True when the token may have another value in another task. */
  readonly isValue: boolean;
}

const TOKEN = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+|#?[\p{L}\p{N}_]+(?:[.-][\p{L}\p{N}_]+)*/gu;

/** Number of characters of a text that are read. Later ones do not help to tell tasks apart. */
const MAX_CHARACTERS = 20_000;

export function tokensOf(text: string): readonly Token[] {
  return [...text.slice(0, MAX_CHARACTERS).matchAll(TOKEN)].map(([found]) => toToken(found));
}

/** The text with each value token replaced. */
export function replaceValues(text: string, replace: (token: Token) => string): string {
  return text.replaceAll(TOKEN, (found) => {
    const token = toToken(found);
    return token.isValue ? replace(token) : found;
  });
}

function toToken(text: string): Token {
  if (text.includes('@')) return { text, shape: '<email>', isValue: true };
  if (/^\d+(?:\.\d+)?$/.test(text)) return { text, shape: '<number>', isValue: true };
  if (text.startsWith('#')) return { text, shape: '<#id>', isValue: true };
  if (/\d/.test(text) || text.includes('_')) return { text, shape: '<id>', isValue: true };
  if (/^\p{Lu}\p{Ll}/u.test(text)) return { text, shape: '<Name>', isValue: true };
  return { text, shape: text.toLowerCase(), isValue: false };
}

/** Similarity of two multisets, from 0 to 1: twice the shared items divided by all items. */
export function likeness(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number {
  let shared = 0;
  for (const [key, count] of a) shared += Math.min(count, b.get(key) ?? 0);
  const all = sizeOf(a) + sizeOf(b);
  return all === 0 ? 1 : (2 * shared) / all;
}

export function countOf(keys: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

function sizeOf(counts: ReadonlyMap<string, number>): number {
  let size = 0;
  for (const count of counts.values()) size += count;
  return size;
}

/** Number of words on each side of a value that identify it. */
const NEIGHBOURS = 4;
/** Weight of the position in the text, which decides between equal neighbours. */
const PLACE_WEIGHT = 0.5;

/**
 * Finds the value in another text that corresponds to a value in this one, by its kind and the words around it.
 *
 * @returns the index in `there`; undefined when `here` lacks the value, or `there` has none of its kind.
 */
export function counterpart(value: string, here: readonly Token[], there: readonly Token[]): number | undefined {
  let best: { readonly index: number; readonly score: number } | undefined;
  for (const [from, token] of here.entries()) {
    if (token.text !== value) continue;
    for (const [to, candidate] of there.entries()) {
      if (candidate.shape !== token.shape) continue;
      const score = contextScore(here, from, there, to);
      if (best === undefined || score > best.score) best = { index: to, score };
    }
  }
  return best?.index;
}

function contextScore(here: readonly Token[], from: number, there: readonly Token[], to: number): number {
  let score = 0;
  for (let distance = 1; distance <= NEIGHBOURS; distance += 1) {
    for (const side of [-distance, distance]) {
      if (here[from + side]?.shape === there[to + side]?.shape) score += 1 / distance;
    }
  }
  const place = Math.abs(from / Math.max(1, here.length) - to / Math.max(1, there.length));
  return score - PLACE_WEIGHT * place;
}
