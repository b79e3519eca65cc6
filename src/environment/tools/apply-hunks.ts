import { ToolError } from '../authoring/tool-result.ts';
import type { Hunk, HunkLine } from './parse-patch.ts';

/** Ways to compare lines, the strictest first. */
const PASSES: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim(),
  (line) => plain(line.trim()),
];

/**
 * Applies the hunks of an update. Each is looked for behind the one before, first to the letter, then without regard to
 * blanks at the end, on both sides, and to typographic characters. The result ends with a line break.
 *
 * @throws ToolError that names the file and the lines that were not found.
 */
export function applyHunks(path: string, text: string, hunks: readonly Hunk[]): string {
  const isWindows = /\r?\n/.exec(text)?.[0] === '\r\n';
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  // The last line break is no line of its own.
  if (lines.at(-1) === '') lines.pop();
  const result: string[] = [];
  let cursor = 0;
  let copied = 0;
  for (const hunk of hunks) {
    if (hunk.header !== '') {
      const at = find(lines, [hunk.header], cursor, false);
      if (at === undefined) throw new ToolError(`Failed to find context '${hunk.header}' in ${path}`);
      cursor = at + 1;
    }
    const hasOldLines = hunk.lines.some(({ mark }) => mark !== '+');
    // Lines that are only added, without a place, come to the end.
    const found = hasOldLines ? locate(path, lines, hunk, cursor) : { at: lines.length, changes: hunk.lines };
    if (hunk.lines.length === 0) continue;
    result.push(...lines.slice(copied, found.at));
    copied = found.at;
    for (const { mark, text: added } of found.changes) {
      // A line that stays is that of the file, which may differ from the patch in blanks.
      if (mark === '+') result.push(added);
      else if (mark === ' ') result.push(lines[copied] ?? '');
      if (mark !== '+') copied += 1;
    }
    cursor = copied;
  }
  result.push(...lines.slice(copied));
  const joined = result.length === 0 ? '' : `${result.join('\n')}\n`;
  return isWindows ? joined.replaceAll('\n', '\r\n') : joined;
}

interface Place {
  readonly at: number;
  readonly changes: readonly HunkLine[];
}

function locate(path: string, lines: readonly string[], hunk: Hunk, cursor: number): Place {
  const wanted = hunk.lines.filter(({ mark }) => mark !== '+').map(({ text }) => text);
  const at = find(lines, wanted, cursor, hunk.isAtEnd);
  if (at !== undefined) return { at, changes: hunk.lines };
  // Models often end a hunk with an empty line that the file does not have.
  if (wanted.length > 1 && wanted.at(-1) === '') {
    const again = find(lines, wanted.slice(0, -1), cursor, hunk.isAtEnd);
    const last = hunk.lines.findLastIndex(({ mark }) => mark !== '+');
    if (again !== undefined) return { at: again, changes: hunk.lines.filter((_line, index) => index !== last) };
  }
  throw new ToolError(`Failed to find expected lines in ${path}:\n${wanted.join('\n')}`);
}

function find(lines: readonly string[], wanted: readonly string[], from: number, isAtEnd: boolean): number | undefined {
  const last = lines.length - wanted.length;
  for (const read of PASSES) {
    const matches = (at: number) => wanted.every((line, index) => read(line) === read(lines[at + index] ?? ''));
    if (isAtEnd && last >= from && matches(last)) return last;
    for (let at = from; at <= last; at += 1) if (matches(at)) return at;
  }
  return undefined;
}

/** A line with typographic dashes, quotes and blanks as the plain characters that models write for them. */
function plain(line: string): string {
  return line
    .replaceAll(/[\u2010-\u2015\u2212]/g, '-')
    .replaceAll(/[\u2018-\u201b]/g, "'")
    .replaceAll(/[\u201c-\u201f]/g, '"')
    .replaceAll(/[\u00a0\u2002-\u200a\u202f\u205f\u3000]/g, ' ');
}
