/** Deeper than any sane message, shallow enough for every recursive reader behind it. */
export const MAX_JSON_DEPTH = 200;

/** Maximum depth of arguments and answers from outside. It leaves room for the message around them. */
export const MAX_INPUT_DEPTH = 128;

/** True when arrays and objects are nested beyond the limit, which also bounds how deep this itself goes. */
export function isTooDeep(value: unknown, limit: number = MAX_JSON_DEPTH): boolean {
  if (limit < 0) return true;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => isTooDeep(item, limit - 1));
  // Every message comes through here: a list of the values would be garbage for each of its objects.
  for (const key in value) if (isTooDeep((value as Record<string, unknown>)[key], limit - 1)) return true;
  return false;
}
