import { ToolError } from '../authoring/tool-result.ts';
import type { Hunk } from './parse-patch.ts';

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
    if (hunk.oldLines.length === 0) {
      if (hunk.newLines.length === 0) continue;
      result.push(...lines.slice(copied), ...hunk.newLines);
      copied = lines.length;
      cursor = lines.length;
      continue;
    }
    const { at, oldCount, newLines } = locate(path, lines, hunk, cursor);
    result.push(...lines.slice(copied, at), ...newLines);
    copied = at + oldCount;
    cursor = copied;
  }
  result.push(...lines.slice(copied));
  const joined = result.length === 0 ? '' : `${result.join('\n')}\n`;
  return isWindows ? joined.replaceAll('\n', '\r\n') : joined;
}

function locate(path: string, lines: readonly string[], hunk: Hunk, cursor: number) {
  const { oldLines, newLines, isAtEnd } = hunk;
  const at = find(lines, oldLines, cursor, isAtEnd);
  if (at !== undefined) return { at, oldCount: oldLines.length, newLines };
  // Models often end a hunk with an empty line that the file does not have.
  if (oldLines.at(-1) === '') {
    const shorter = oldLines.slice(0, -1);
    const again = shorter.length === 0 ? undefined : find(lines, shorter, cursor, isAtEnd);
    if (again !== undefined) {
      const kept = newLines.at(-1) === '' ? newLines.slice(0, -1) : newLines;
      return { at: again, oldCount: shorter.length, newLines: kept };
    }
  }
  throw new ToolError(`Failed to find expected lines in ${path}:\n${oldLines.join('\n')}`);
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
