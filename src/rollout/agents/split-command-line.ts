/**
 * Splits a command line into words like a shell: at blanks, with `'…'`, `"…"` and `\` as quotes. It expands nothing. An
 * unclosed quote ends at the end of the line.
 */
export function splitCommandLine(line: string): readonly string[] {
  const words: string[] = [];
  const pattern = /(?:[^\s'"\\]+|\\.|'[^']*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$))+/gs;
  for (const [word] of line.matchAll(pattern)) words.push(unquote(word));
  return words;
}

function unquote(word: string): string {
  return word.replaceAll(/\\(.)|'([^']*)(?:'|$)|"((?:[^"\\]|\\.)*)(?:"|$)/gs, (_, escaped, single, double) => {
    if (escaped !== undefined) return escaped;
    if (single !== undefined) return single;
    return String(double ?? '').replaceAll(/\\(["\\$`])/g, '$1');
  });
}
