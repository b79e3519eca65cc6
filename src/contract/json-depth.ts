/** Maximum depth of JSON: deeper than any sane message, and shallow enough for recursive readers. */
export const MAX_JSON_DEPTH = 200;

/** Maximum depth of arguments and answers from outside. It leaves room for the message around them. */
export const MAX_INPUT_DEPTH = 128;

/** True when arrays and objects are nested deeper than the limit. The recursion stops at the limit too. */
export function isTooDeep(value: unknown, limit: number = MAX_JSON_DEPTH): boolean {
  if (limit < 0) return true;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => isTooDeep(item, limit - 1));
  // Every message passes here, so this does not build a list of values for each object.
  for (const key in value) if (isTooDeep((value as Record<string, unknown>)[key], limit - 1)) return true;
  return false;
}

/**
 * Checks the depth of a JSON text before it is parsed, by counting brackets outside of strings. For a text that is not
 * JSON the result means nothing.
 */
export function isNestedDeeper(text: string, limit: number = MAX_JSON_DEPTH): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Index of the quote that ends the string, or the length of the text when the string is not closed. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
}
