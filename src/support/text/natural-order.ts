/** Largest number of digits that are compared as a number. Longer runs are compared as text. */
const DIGITS = 20;

/** A sort key for natural order: `settle-2` before `settle-10`. */
function naturalKey(text: string): string {
  return text.replace(/\d+/g, (digits) => digits.padStart(DIGITS, '0'));
}

/** Indexes of the texts in natural order. Equal texts keep their order. */
export function naturalOrder(texts: readonly string[]): readonly number[] {
  const keys = texts.map(naturalKey);
  return keys.map((_, index) => index).sort((one, other) => compare(keys[one] ?? '', keys[other] ?? '') || one - other);
}

/** Sorts items by a text in natural order. */
export function sortNaturally<Item>(items: readonly Item[], textOf: (item: Item) => string): readonly Item[] {
  return naturalOrder(items.map(textOf)).flatMap((index) => items.slice(index, index + 1));
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
