/** One file of a patch in the format V4A. */
export type FilePatch =
  | { readonly kind: 'add'; readonly path: string; readonly text: string }
  | { readonly kind: 'delete'; readonly path: string }
  | {
      readonly kind: 'update';
      readonly path: string;
      readonly movedTo: string | undefined;
      readonly hunks: readonly Hunk[];
    };

/** A line after the patch: a new text, or the index of an old line that stays. */
export type NewLine = string | number;

export interface Hunk {
  /** Line behind which the hunk lies, from `@@ header`. */
  readonly header: string | undefined;
  readonly old: readonly string[];
  readonly new: readonly NewLine[];
  readonly isAtEnd: boolean;
}

/** A patch that cannot be read, or that does not fit a file. */
export class PatchError extends Error {
  override readonly name = 'PatchError';
}

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const ADD = '*** Add File: ';
const DELETE = '*** Delete File: ';
const UPDATE = '*** Update File: ';
const MOVE = '*** Move to: ';
const END_OF_FILE = '*** End of File';

/** @throws PatchError naming the line. */
export function parsePatch(input: string): FilePatch[] {
  const lines = input.replaceAll('\r\n', '\n').trim().split('\n');
  if (lines[0]?.trim() !== BEGIN) throw new PatchError(`Invalid patch: the first line of the patch must be '${BEGIN}'`);
  if (lines.at(-1)?.trim() !== END) throw new PatchError(`Invalid patch: the last line of the patch must be '${END}'`);
  const reader = new Lines(lines.slice(1, -1));
  const files: FilePatch[] = [];
  while (!reader.isDone) files.push(readFile(reader));
  if (files.length === 0) throw new PatchError('Invalid patch: it names no file.');
  return files;
}

function readFile(reader: Lines): FilePatch {
  const line = reader.take();
  if (line.startsWith(ADD)) {
    const path = line.slice(ADD.length).trim();
    const added: string[] = [];
    while (!reader.isDone && !reader.peek().startsWith('*** ')) {
      const each = reader.take();
      if (!each.startsWith('+')) throw new PatchError(`Invalid Add File Line: ${each}`);
      added.push(each.slice(1));
    }
    return { kind: 'add', path, text: added.map((each) => `${each}\n`).join('') };
  }
  if (line.startsWith(DELETE)) return { kind: 'delete', path: line.slice(DELETE.length).trim() };
  if (!line.startsWith(UPDATE)) {
    throw new PatchError(
      `Invalid Line: '${line}' is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'`,
    );
  }
  const path = line.slice(UPDATE.length).trim();
  const isMoved = !reader.isDone && reader.peek().startsWith(MOVE);
  const movedTo = isMoved ? reader.take().slice(MOVE.length).trim() : undefined;
  const hunks = readHunks(reader, path);
  if (hunks.length === 0 && movedTo === undefined) throw new PatchError(`Update file hunk for path '${path}' is empty`);
  return { kind: 'update', path, movedTo, hunks };
}

function readHunks(reader: Lines, path: string): Hunk[] {
  const hunks: Hunk[] = [];
  while (!reader.isDone && !isFileHead(reader.peek())) {
    const headers: string[] = [];
    while (!reader.isDone && reader.peek().startsWith('@@')) {
      const header = reader.take().slice(2).trim();
      if (header !== '') headers.push(header);
    }
    // Several headers narrow the place down, one after the other.
    for (const header of headers.slice(0, -1)) hunks.push({ header, old: [], new: [], isAtEnd: false });
    hunks.push(readHunk(reader, headers.at(-1), path));
  }
  return hunks;
}

function readHunk(reader: Lines, header: string | undefined, path: string): Hunk {
  const before: string[] = [];
  const after: NewLine[] = [];
  let isAtEnd = false;
  while (!reader.isDone && !reader.peek().startsWith('@@') && !isFileHead(reader.peek())) {
    const line = reader.take();
    if (line === END_OF_FILE) {
      isAtEnd = true;
      break;
    }
    const text = line.slice(1);
    if (line === '' || line.startsWith(' ')) {
      after.push(before.length);
      before.push(text);
    } else if (line.startsWith('-')) before.push(text);
    else if (line.startsWith('+')) after.push(text);
    else throw new PatchError(`Invalid Line: ${line}`);
  }
  if (before.length === 0 && after.length === 0)
    throw new PatchError(`Update hunk of '${path}' does not contain any lines`);
  return { header, old: before, new: after, isAtEnd };
}

function isFileHead(line: string): boolean {
  return [ADD, DELETE, UPDATE].some((head) => line.startsWith(head));
}

/** The text after all hunks. It ends with a line end. @throws PatchError with the lines that were not found. */
export function applyHunks(text: string, hunks: readonly Hunk[]): string {
  const isCrlf = /^[^\n]*\r\n/.test(text);
  const lines = text.split('\n').map((line) => (isCrlf ? line.replace(/\r$/, '') : line));
  if (lines.at(-1) === '') lines.pop();
  const result: string[] = [];
  let cursor = 0;
  for (const hunk of hunks) {
    let from = cursor;
    if (hunk.header !== undefined) {
      const at = seek(lines, [hunk.header], cursor, false);
      if (at === undefined) throw new PatchError(`Invalid Anchor: Failed to find context '${hunk.header}'`);
      from = at + 1;
    }
    if (hunk.old.length === 0 && hunk.new.length === 0) {
      result.push(...lines.slice(cursor, from));
      cursor = from;
      continue;
    }
    const place = findPlace(lines, hunk, from);
    result.push(...lines.slice(cursor, place.at), ...place.new);
    cursor = place.at + place.length;
  }
  const end = isCrlf ? '\r\n' : '\n';
  return [...result, ...lines.slice(cursor)].map((line) => line + end).join('');
}

function findPlace(lines: readonly string[], hunk: Hunk, from: number) {
  // Lines without an old text go to the end.
  if (hunk.old.length === 0) return { at: lines.length, length: 0, new: written(lines, lines.length, hunk.new) };
  const at = seek(lines, hunk.old, from, hunk.isAtEnd);
  if (at !== undefined) return { at, length: hunk.old.length, new: written(lines, at, hunk.new) };
  if (hunk.old.at(-1) === '') {
    // The empty line stands for the end of the file.
    const old = hunk.old.slice(0, -1);
    const added = hunk.new.filter(
      (line, index) => line !== old.length && !(line === '' && index === hunk.new.length - 1),
    );
    const found = old.length === 0 ? undefined : seek(lines, old, from, hunk.isAtEnd);
    if (found !== undefined) return { at: found, length: old.length, new: written(lines, found, added) };
  }
  const kind = hunk.isAtEnd ? 'Invalid EOF Context' : 'Invalid Context';
  throw new PatchError(`${kind} ${from}:\n${hunk.old.join('\n')}`);
}

/** The lines after a hunk. Those that stay are those of the file, which may differ from the patch: a match may be loose. */
function written(lines: readonly string[], at: number, added: readonly NewLine[]): string[] {
  return added.map((line) => (typeof line === 'number' ? (lines[at + line] ?? '') : line));
}

const PASSES: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim(),
  (line) => plain(line.trim()),
];

/** First place of some lines: exactly, then with looser comparisons. */
function seek(lines: readonly string[], wanted: readonly string[], from: number, isAtEnd: boolean): number | undefined {
  const last = lines.length - wanted.length;
  for (const pass of PASSES) {
    const looked = wanted.map(pass);
    const fits = (at: number) => looked.every((line, index) => pass(lines[at + index] ?? '') === line);
    if (isAtEnd && last >= from && fits(last)) return last;
    for (let at = from; at <= last; at += 1) if (fits(at)) return at;
  }
  return undefined;
}

/** Dashes, quotes and spaces of typography as those of a keyboard. */
function plain(line: string): string {
  return line
    .replaceAll(/[\u2010-\u2015\u2212]/g, '-')
    .replaceAll(/[\u2018-\u201b]/g, "'")
    .replaceAll(/[\u201c-\u201f]/g, '"')
    .replaceAll(/[\u00a0\u2002-\u200a\u202f\u205f\u3000]/g, ' ');
}

class Lines {
  readonly #lines: readonly string[];
  #at = 0;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  get isDone(): boolean {
    return this.#at >= this.#lines.length;
  }

  peek(): string {
    return this.#lines[this.#at] ?? '';
  }

  take(): string {
    const line = this.peek();
    this.#at += 1;
    return line;
  }
}
