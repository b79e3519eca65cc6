import { ToolError } from '../authoring/tool-result.ts';

/** A line of a hunk: one that stays, one that is removed, or one that is added. */
export interface HunkLine {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

/** A piece of an update: lines of the file, and the changes among them. */
export interface Hunk {
  /** Text of the `@@` line, whose first match moves the search behind it. Empty for none. */
  readonly header: string;
  readonly lines: readonly HunkLine[];
  /** True if the old lines are the last of the file. */
  readonly isAtEnd: boolean;
}

export type PatchStep =
  | { readonly kind: 'add'; readonly path: string; readonly lines: readonly string[] }
  | { readonly kind: 'delete'; readonly path: string }
  | {
      readonly kind: 'update';
      readonly path: string;
      readonly moveTo: string | undefined;
      readonly hunks: readonly Hunk[];
    };

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const ADD = '*** Add File: ';
const DELETE = '*** Delete File: ';
const UPDATE = '*** Update File: ';
const MOVE = '*** Move to: ';
const END_OF_FILE = '*** End of File';

/** Reads a patch in the format V4A. @throws ToolError that names the line. */
export function parsePatch(text: string): readonly PatchStep[] {
  const lines = text.trim().split(/\r?\n/);
  if (lines[0]?.trim() !== BEGIN) throw invalid(`The first line of the patch must be '${BEGIN}'`);
  if (lines.at(-1)?.trim() !== END) throw invalid(`The last line of the patch must be '${END}'`);
  const steps: PatchStep[] = [];
  const last = lines.length - 1;
  let at = 1;
  while (at < last) {
    const line = lines[at] ?? '';
    const body = bodyEnd(lines, at + 1, last);
    if (line.trim() === '') at += 1;
    else if (line.startsWith(ADD)) {
      steps.push({ kind: 'add', path: pathOf(line, ADD, at), lines: addedLines(lines.slice(at + 1, body), at + 2) });
      at = body;
    } else if (line.startsWith(DELETE)) {
      if (body > at + 1 && lines.slice(at + 1, body).some((each) => each.trim() !== '')) {
        throw invalid(`Line ${at + 2}: '${lines[at + 1]}' follows a file that is deleted, which has no lines`);
      }
      steps.push({ kind: 'delete', path: pathOf(line, DELETE, at) });
      at = body;
    } else if (line.startsWith(UPDATE)) {
      const path = pathOf(line, UPDATE, at);
      const isMoved = lines[at + 1]?.startsWith(MOVE) === true;
      const first = at + (isMoved ? 2 : 1);
      const moveTo = isMoved ? pathOf(lines[at + 1] ?? '', MOVE, at + 1) : undefined;
      const end = bodyEnd(lines, first, last);
      const hunks = parseHunks(lines.slice(first, end), first + 1);
      if (hunks.length === 0 && moveTo === undefined) throw invalid(`Update file hunk for path '${path}' is empty`);
      steps.push({ kind: 'update', path, moveTo, hunks });
      at = end;
    } else {
      throw invalid(
        `Line ${at + 1}: '${line}' is not a valid hunk header. Valid hunk headers: '${ADD}{path}', '${DELETE}{path}', '${UPDATE}{path}'`,
      );
    }
  }
  if (steps.length === 0) throw invalid('The patch changes no file');
  return steps;
}

/** Index of the next line that begins with three stars and is no end of a file. */
function bodyEnd(lines: readonly string[], from: number, last: number): number {
  for (let at = from; at < last; at += 1) {
    const line = lines[at] ?? '';
    if (line.startsWith('*** ') && line.trim() !== END_OF_FILE) return at;
  }
  return last;
}

function pathOf(line: string, prefix: string, at: number): string {
  const path = line.slice(prefix.length).trim();
  if (path === '') throw invalid(`Line ${at + 1}: '${line}' names no file`);
  if (path.startsWith('/') || path.split('/').includes('..')) {
    throw invalid(`Line ${at + 1}: the path '${path}' must be relative, and stay in the working folder`);
  }
  return path;
}

function addedLines(lines: readonly string[], firstLine: number): readonly string[] {
  return lines.map((line, index) => {
    if (line.startsWith('+')) return line.slice(1);
    throw invalid(`Invalid Add File Line: line ${firstLine + index}: '${line}' must begin with '+'`);
  });
}

function parseHunks(lines: readonly string[], firstLine: number): readonly Hunk[] {
  const hunks: Hunk[] = [];
  let header: string | undefined;
  let held: HunkLine[] = [];
  const close = (isAtEnd: boolean) => {
    // A header alone narrows the scope of the next hunk.
    if (held.length > 0 || (header !== undefined && header !== '')) {
      hunks.push({ header: header ?? '', lines: held, isAtEnd });
    }
    header = undefined;
    held = [];
  };
  for (const [index, line] of lines.entries()) {
    const mark = line[0] ?? ' ';
    if (line.trim() === END_OF_FILE) close(true);
    else if (line === '@@' || line.startsWith('@@ ')) {
      close(false);
      header = line.slice(3).trimEnd();
    } else if (mark === '-' || mark === '+' || mark === ' ') held.push({ mark, text: line.slice(1) });
    else {
      throw invalid(
        `Invalid Line: line ${firstLine + index}: '${line}'. Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)`,
      );
    }
  }
  close(false);
  return hunks;
}

function invalid(message: string): ToolError {
  return new ToolError(`Invalid patch: ${message}`);
}
