/** JSON without U+0085, U+2028 and U+2029, which some readers treat as line ends. */
export function toOneLine(value: object): string {
  return JSON.stringify(value).replace(/[\u0085\u2028\u2029]/g, (end) => LINE_ENDS[end] ?? end);
}

const LINE_ENDS: Readonly<Record<string, string>> = {
  '\u0085': '\\u0085',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};
