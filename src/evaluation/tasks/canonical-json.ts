import type { Json } from '../../contract/json.ts';

/**
 * The one text that RFC 8785 gives a JSON value: no blanks, numbers as ECMAScript writes them, names in the order of their
 * UTF-16 units.
 *
 * @throws Error for a text with half of a surrogate pair, which has no UTF-8, and for a number that is not finite.
 */
export function canonicalJson(value: Json): string {
  if (typeof value === 'string') return textOf(value);
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error(`${value} is no number of JSON`);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  // Two texts are compared by their UTF-16 units without a function to do so.
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${textOf(name)}:${canonicalJson(value[name] ?? null)}`).join(',')}}`;
}

function textOf(text: string): string {
  const quoted = JSON.stringify(text);
  // JSON escapes such a half, and no other character that is written so.
  if (quoted.includes('\\ud') && LONE_SURROGATE.test(text)) throw new Error(`${quoted} has half of a surrogate pair`);
  return quoted;
}

const LONE_SURROGATE = /\p{Surrogate}/u;
