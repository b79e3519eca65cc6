import { styleText } from 'node:util';
import { displayWidth, padToWidth } from '../../support/text/display-width.ts';
import { HIDDEN_CHARACTERS } from '../../support/text/hidden-characters.ts';
import { asTyped } from './typed-command.ts';

type Color = 'bold' | 'cyan' | 'dim' | 'green' | 'red' | 'yellow';

/**
 * Colours for the terminal. Text stays plain with `NO_COLOR`, or if standard output or standard error is not a
 * terminal.
 */
export const colors: Readonly<Record<Color, (text: string) => string>> = {
  bold: (text) => colored('bold', text),
  cyan: (text) => colored('cyan', text),
  dim: (text) => colored('dim', text),
  green: (text) => colored('green', text),
  red: (text) => colored('red', text),
  yellow: (text) => colored('yellow', text),
};

function colored(color: Color, text: string): string {
  return hasColors() ? styleText(color, text, { validateStream: false }) : text;
}

/** A dumb terminal gets colours only with `FORCE_COLOR` or `CI`. */
function hasColors(): boolean {
  if (process.stdout.isTTY !== true || process.stderr.isTTY !== true) return false;
  const { NO_COLOR, FORCE_COLOR, CI, TERM } = process.env;
  if (NO_COLOR) return false;
  return Boolean(FORCE_COLOR) || CI !== undefined || TERM !== 'dumb';
}

export function print(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** Prints JSON on one line. It also escapes control characters that JSON allows but a terminal might interpret. */
export function printJson(value: unknown): void {
  print(
    JSON.stringify(value).replace(
      HIDDEN_CHARACTERS,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  );
}

/** Aligns rows as columns with two blanks between them. */
export function tableLines(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows.reduce<number[]>(
    (known, row) => row.map((cell, column) => Math.max(known[column] ?? 0, displayWidth(cell))),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, column) => padToWidth(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

export function printTable(rows: readonly (readonly string[])[]): void {
  for (const line of tableLines(rows)) print(line);
}

/** Prints a line on standard error: progress, warnings and hints. */
export function note(line: string): void {
  process.stderr.write(`${asTyped(line)}\n`);
}

/** Ignores errors of closed outputs (`| head`, a closed terminal), so that they do not change the exit code. */
export function ignoreClosedOutputs(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    });
  }
}

/**
 * Makes text of a model, tool or environment safe to print. Control characters become visible and white space becomes
 * one blank. Text beyond `length` is cut, but not inside of a path or address, since half of one is useless.
 */
export function printable(text: string, length = 160): string {
  const visible = withoutControls(text.replace(/\s+/g, ' ').trim());
  if (visible.length <= length) return visible;
  const end = cutAt(visible, length - 1);
  return end >= visible.length ? visible : `${visible.slice(0, end).trimEnd()}…`;
}

/** Longest path that is kept whole. No system has longer ones. */
const MAX_PATH_LENGTH = 4_096;
const OF_A_PATH = /[^\s"'`<>()[\]{},;|]/;

/** Position of the cut: before the path at `limit`, or after it if too little text would be left. */
function cutAt(text: string, limit: number): number {
  const isOfPath = (at: number) => OF_A_PATH.test(text.charAt(at));
  let start = limit;
  while (start > 0 && isOfPath(start - 1)) start -= 1;
  let end = limit;
  while (end < text.length && isOfPath(end)) end += 1;
  const isPath = start < limit && end > limit && /[/\\]|:\d/.test(text.slice(start, end));
  if (!isPath || end - start > MAX_PATH_LENGTH) return limit;
  return start >= limit / 2 ? start : end;
}

/** Like `printable` for text of several lines, without a limit. */
export function printableLines(text: string): string {
  return text.split(/\r?\n/).map(withoutControls).join('\n');
}

function withoutControls(text: string): string {
  return text.replace(HIDDEN_CHARACTERS, '\ufffd');
}
