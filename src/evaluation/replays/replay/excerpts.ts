import type { Json } from '../../../contract/json.ts';

/** Characters of one side of a difference, as JSON: a trace keeps it, and lists show it. */
const MAX_CHARACTERS = 8_000;
/** Characters before the first difference. */
const BEFORE = 400;

/** Excerpts of two different values: whole if they are small, otherwise text around the first difference. */
export function toExcerpts(before: Json, after: Json): { readonly before: Json; readonly after: Json } {
  const [one, other] = [JSON.stringify(before), JSON.stringify(after)];
  if (one.length <= MAX_CHARACTERS && other.length <= MAX_CHARACTERS) return { before, after };
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  const from = Math.max(0, start - BEFORE);
  return { before: cut(one, from), after: cut(other, from) };
}

function cut(text: string, from: number): string {
  const kept = text.slice(from, from + MAX_CHARACTERS);
  return `${from === 0 ? '' : '… '}${kept}${from + kept.length < text.length ? ' …' : ''}`;
}
