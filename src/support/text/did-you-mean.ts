/**
 * ` Did you mean "<name>"?`, with a leading space, for a name that is close to a known one; otherwise empty. Missing,
 * added, changed and swapped letters count as edits, and case hardly matters.
 */
export function didYouMean(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? '' : ` Did you mean ${JSON.stringify(nearest)}?`;
}

/** Longer names get no suggestion. */
const MAX_CHARACTERS = 100;

function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > MAX_CHARACTERS) return undefined;
  let nearest: { readonly name: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    if (candidate.length > MAX_CHARACTERS || candidate === name) continue;
    const distance = distanceOf(name.toLowerCase(), candidate.toLowerCase());
    // At most a third of the letters may differ.
    const limit = Math.max(1, Math.floor(Math.max(name.length, candidate.length) / 3));
    if (distance <= limit && distance < candidate.length && (nearest === undefined || distance < nearest.distance)) {
      nearest = { name: candidate, distance };
    }
  }
  return nearest?.name;
}

/** Edit distance of two texts. Swapping two neighbours is one edit. */
function distanceOf(from: string, to: string): number {
  let before: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const next = [row];
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      const isExchanged = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const edits = [
        (last[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        ...(isExchanged ? [(before[column - 2] ?? 0) + 1] : []),
      ];
      next.push(Math.min(...edits));
    }
    [before, last] = [last, next];
  }
  return last[to.length] ?? 0;
}
