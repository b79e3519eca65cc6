/**
 * The words of a command line, as a shell splits them: by blanks, with `'…'`, `"…"` and `\` for what holds some. Nothing is
 * expanded. A quote that is not closed reaches to the end.
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
