/** Characters of a view that an agent sees. */
export const SHOWN_CHARACTERS = 16_000;
const SNIPPET_LINES = 4;
const NUMBER_WIDTH = 6;

const CLIPPED =
  '<response clipped><NOTE>To save on context only part of this file has been shown to you. Retry with a view_range that has the lines you look for.</NOTE>';

/** Lines with their numbers, as `cat -n` prints them. */
export function numbered(text: string, firstLine = 1, longest = SHOWN_CHARACTERS): string {
  const shown = text.length > longest ? text.slice(0, longest) + CLIPPED : text;
  return shown
    .split('\n')
    .map((line, index) => `${String(index + firstLine).padStart(NUMBER_WIDTH)}\t${line}`)
    .join('\n');
}

/** Positions of a text in another one, overlapping ones included. */
export function occurrences(text: string, wanted: string): readonly number[] {
  const found: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) found.push(at);
  return found;
}

/** Number of places where a text would be replaced: none of them overlaps another. */
export function separateOccurrences(text: string, wanted: string): number {
  return text.split(wanted).length - 1;
}

/** Number of the line at a position, from 1 on. */
export function lineAt(text: string, position: number): number {
  return text.slice(0, position).split('\n').length;
}

/** The result of an edit: the text, and the first and last line that changed. */
export interface Edit {
  readonly text: string;
  readonly firstLine: number;
  readonly lastLine: number;
}

export function replaceAt(text: string, position: number, oldText: string, newText: string): Edit {
  const firstLine = lineAt(text, position);
  const lastLine = firstLine + newText.split('\n').length - 1;
  // No pattern of `String.replace` is read in the new text.
  return { text: text.slice(0, position) + newText + text.slice(position + oldText.length), firstLine, lastLine };
}

/** Line break of a file: that of its first line. */
export function lineBreakOf(text: string): '\n' | '\r\n' {
  return /\r?\n/.exec(text)?.[0] === '\r\n' ? '\r\n' : '\n';
}

/**
 * The texts of an edit with the line breaks of the file. Agents see and write `\n`, also where a file has `\r\n`.
 */
export function inLineBreaksOf(file: string, text: string): string {
  return lineBreakOf(file) === '\r\n' ? text.replaceAll(/\r?\n/g, '\r\n') : text;
}

/** Inserts a text after a line; 0 inserts it before the first. */
export function insertAfter(text: string, line: number, inserted: string): Edit {
  const lines = text.split('\n');
  const position = lines.slice(0, line).reduce((sum, each) => sum + each.length + 1, 0);
  const isBehindEnd = position > text.length;
  const own = inserted.endsWith('\n') ? inserted : `${inserted}\n`;
  const piece = isBehindEnd ? `${lineBreakOf(text)}${inserted}` : own;
  const edit = replaceAt(text, Math.min(position, text.length), '', piece);
  const lastLine = line + own.split('\n').length - 1;
  return { ...edit, firstLine: line + 1, lastLine };
}

/** The lines around an edit, numbered. */
export function snippetOf({ text, firstLine, lastLine }: Edit): string {
  const from = Math.max(1, firstLine - SNIPPET_LINES);
  const lines = text.split('\n').slice(from - 1, lastLine + SNIPPET_LINES);
  return numbered(lines.map((line) => line.replace(/\r$/, '')).join('\n'), from);
}
