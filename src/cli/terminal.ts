import pc from 'picocolors';
import { HIDDEN_CHARACTERS } from '../text/hidden-characters.ts';

/** Colours for people; plain text as soon as one of the two outputs is no terminal, and for `NO_COLOR`. */
export const colors: ReturnType<typeof pc.createColors> = pc.createColors(
  pc.isColorSupported && process.stdout.isTTY === true && process.stderr.isTTY === true,
);

export function print(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** One line of JSON. What a terminal might obey is escaped, which JSON itself asks of some control characters alone. */
export function printJson(value: unknown): void {
  print(
    JSON.stringify(value).replace(
      HIDDEN_CHARACTERS,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  );
}

/** Rows as columns of equal width, two blanks apart. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const widths = rows.reduce<number[]>(
    (known, row) => row.map((cell, column) => Math.max(known[column] ?? 0, cell.length)),
    [],
  );
  for (const row of rows) {
    print(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}

/** For the person at the terminal, beside the result: progress, warnings, what to do next. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Lines that end early (`| head`) and terminals that were closed do not change what a command does, or its exit code. */
export function ignoreClosedOutputs(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    });
  }
}

/**
 * Text that a model, a tool or an environment wrote, safe to print: control characters (terminal escapes among them)
 * become visible, white space one blank, and what is longer than `length` is cut: never within a path, an address, or the
 * place in a file, since half of one leads nowhere.
 */
export function printable(text: string, length = 160): string {
  const visible = withoutControls(text.replace(/\s+/g, ' ').trim());
  if (visible.length <= length) return visible;
  const end = cutAt(visible, length - 1);
  return end >= visible.length ? visible : `${visible.slice(0, end).trimEnd()}…`;
}

/** Longer paths are cut after all: systems have none. */
const MAX_PATH_LENGTH = 4_096;
const OF_A_PATH = /[^\s"'`<>()[\]{},;|]/;

/** Before the path that `limit` falls into, or behind it where little else would be left. */
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

/** As `printable`, for text of several lines, whole. */
export function printableLines(text: string): string {
  return text.split(/\r?\n/).map(withoutControls).join('\n');
}

function withoutControls(text: string): string {
  return text.replace(HIDDEN_CHARACTERS, '\ufffd');
}
