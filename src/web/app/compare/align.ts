/** Indexes of two members that belong together; one is undefined if the other member has no partner. */
export interface AlignedPair {
  readonly left: number | undefined;
  readonly right: number | undefined;
}

/** Similarity of two members, from 0 (never paired) to `SAME`. */
export type Likeness = (left: number, right: number) => number;
export const SAME = 8;

/** Most cells of the table, of two bytes each. Longer sequences are paired by position. */
const MOST_CELLS = 6_000_000;

/**
 * Aligns two sequences so that the sum of the similarities of all pairs is largest. With only `SAME` and 0 this is the
 * longest common subsequence.
 */
export function align(leftLength: number, rightLength: number, likeness: Likeness): readonly AlignedPair[] {
  const shorter = Math.min(leftLength, rightLength);
  let start = 0;
  while (start < shorter && likeness(start, start) === SAME) start++;
  let end = 0;
  while (end < shorter - start && likeness(leftLength - 1 - end, rightLength - 1 - end) === SAME) end++;
  const height = leftLength - start - end;
  const width = rightLength - start - end;
  const middle =
    height * width > MOST_CELLS
      ? inOrder(height, width, (left, right) => likeness(start + left, start + right))
      : alignMiddle(height, width, (left, right) => likeness(start + left, start + right));
  return [
    ...Array.from({ length: start }, (_, index) => ({ left: index, right: index })),
    ...middle.map(({ left, right }) => ({ left: shifted(left, start), right: shifted(right, start) })),
    ...Array.from({ length: end }, (_, index) => ({ left: start + height + index, right: start + width + index })),
  ];
}

function alignMiddle(height: number, width: number, likeness: Likeness): readonly AlignedPair[] {
  const row = width + 1;
  // Best similarity of the rests of both sequences, from each position on.
  const common = new Uint16Array((height + 1) * row);
  for (let left = height - 1; left >= 0; left--) {
    for (let right = width - 1; right >= 0; right--) {
      const at = left * row + right;
      const apart = Math.max(common[at + row] ?? 0, common[at + 1] ?? 0);
      const together = likeness(left, right);
      common[at] = together === 0 ? apart : Math.max(apart, (common[at + row + 1] ?? 0) + together);
    }
  }
  const pairs: AlignedPair[] = [];
  let left = 0;
  let right = 0;
  while (left < height && right < width) {
    const at = left * row + right;
    const together = likeness(left, right);
    if (together > 0 && common[at] === (common[at + row + 1] ?? 0) + together) {
      pairs.push({ left: left++, right: right++ });
    } else if (common[at] === common[at + row]) pairs.push({ left: left++, right: undefined });
    else pairs.push({ left: undefined, right: right++ });
  }
  while (left < height) pairs.push({ left: left++, right: undefined });
  while (right < width) pairs.push({ left: undefined, right: right++ });
  return pairs;
}

function inOrder(height: number, width: number, likeness: Likeness): readonly AlignedPair[] {
  return Array.from({ length: Math.max(height, width) }, (_, index) => index).flatMap((index): AlignedPair[] => {
    const left = index < height ? index : undefined;
    const right = index < width ? index : undefined;
    if (left === undefined || right === undefined || likeness(left, right) > 0) return [{ left, right }];
    return [
      { left, right: undefined },
      { left: undefined, right },
    ];
  });
}

function shifted(place: number | undefined, by: number): number | undefined {
  return place === undefined ? undefined : place + by;
}
