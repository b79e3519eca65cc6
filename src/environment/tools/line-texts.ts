/** Lines of a text without their ends. The end of the last line begins no further one. */
export function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => line.replace(/\r$/, ''));
}

/** Lines as `cat -n` prints them. */
export function numbered(lines: readonly string[], from = 1): string {
  return lines.map((line, index) => `${String(from + index).padStart(6)}\t${line}`).join('\n');
}

/** Positions of a text that is searched for, none inside another. */
export function positionsOf(text: string, wanted: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) found.push(at);
  return found;
}

/** Number of the line in which a position is, counted from 1. */
export function lineAt(text: string, position: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < position; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}

/** Puts a text in place of the piece at a position. Nothing in it is special. */
export function replacedAt(text: string, position: number, old: string, replacement: string): string {
  return text.slice(0, position) + replacement + text.slice(position + old.length);
}

/** True if the lines of a text end with CRLF. */
export function hasCrlf(text: string): boolean {
  const at = text.indexOf('\n');
  return at > 0 && text[at - 1] === '\r';
}

/** A text of an agent, who writes LF, with the line ends of the file. */
export function withLineEnds(text: string, isCrlf: boolean): string {
  return isCrlf ? text.replaceAll(/\r?\n/g, '\r\n') : text;
}
