/** Deeper than any sane message, shallow enough for every recursive reader behind it. */
export const MAX_JSON_DEPTH = 200;

/** What arguments and answers from outside may have: it leaves room for the message that they are wrapped in. */
export const MAX_INPUT_DEPTH = 128;

/** True when arrays and objects are nested beyond the limit. Without recursion: that is what it guards against. */
export function isTooDeep(value: unknown, limit: number = MAX_JSON_DEPTH): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limit) return true;
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
  return false;
}
