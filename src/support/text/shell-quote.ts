/** Quotes a text as one shell word, if it needs quotes. */
export function shellQuoted(word: string): string {
  return /^[\w=.,:/@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
