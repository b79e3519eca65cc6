import { posix } from 'node:path';
import { z } from 'zod';
import { ToolError, type ToolResult } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { hasCrlf, lineAt, linesOf, numbered, positionsOf, replacedAt, withLineEnds } from './line-texts.ts';
import { nativeMeta } from './native.ts';
import { TextFiles } from './text-files.ts';
import { textResult } from './tool-output.ts';
import { walk } from './walk.ts';

const MAX_VIEW = 16_000;
const CLIPPED =
  '<response clipped><NOTE>To save on context only part of this file has been shown to you. Use view_range, or search in the file for the line numbers of what you are looking for.</NOTE>';
const AROUND = 4;
const REVIEW =
  'Review the changes and make sure they are as expected (correct indentation, no duplicate lines, etc). Edit the file again if necessary.';
const DESCRIPTION =
  'Views, creates and edits text files by absolute path. view shows a file with line numbers, or a directory two levels deep; create makes a new file; str_replace replaces a text that is in the file exactly once; insert puts text after a line.';

const schema = {
  command: z.enum(['view', 'create', 'str_replace', 'insert']),
  path: z.string().min(1).describe('Absolute path of a file or directory.'),
  file_text: z.string().optional().describe('Required for create: the content of the file.'),
  view_range: z.array(z.int()).optional().describe('For view: first and last line, such as [11, 12]; -1 is the end.'),
  old_str: z.string().optional().describe('Required for str_replace: the text to replace, with its white space.'),
  new_str: z.string().optional().describe('For str_replace: the new text. Without it the old text is removed.'),
  insert_line: z.int().optional().describe('Required for insert: the line after which the text goes; 0 for the start.'),
  insert_text: z.string().optional().describe('Required for insert: the text.'),
};

export type EditorArgs = z.infer<z.ZodObject<typeof schema>>;

export interface EditorOptions {
  /** Characters of a file that `view` shows at most. Default 16,000. */
  readonly maxCharacters?: number;
}

/** Adds `str_replace_based_edit_tool`. */
export function editor(sandbox: Sandbox, { maxCharacters = MAX_VIEW }: EditorOptions = {}): ToolSet {
  return {
    role: 'editor',
    addTo(env) {
      const files = new TextFiles(sandbox);
      const meta = nativeMeta({ role: 'editor', anthropic: 'text_editor_20250728' });
      env.tool('str_replace_based_edit_tool', { description: DESCRIPTION, args: schema, meta }, (args, { signal }) => {
        if (!args.path.startsWith('/')) {
          const suggested = posix.join(sandbox.workdir, args.path);
          throw new ToolError(
            `The path ${args.path} is not an absolute path, it should start with \`/\`. Maybe you meant ${suggested}?`,
          );
        }
        switch (args.command) {
          case 'view':
            return view(files, args, maxCharacters, signal);
          case 'create':
            return create(files, args, signal);
          case 'str_replace':
            return replace(files, args, signal);
          case 'insert':
            return insert(files, args, signal);
        }
      });
    },
  };
}

async function view(files: TextFiles, args: EditorArgs, most: number, signal: AbortSignal): Promise<ToolResult> {
  const { path, view_range: range } = args;
  const found = await files.locate(path, signal);
  if (found.type === 'folder') {
    if (range !== undefined) {
      throw new ToolError('The `view_range` parameter is not allowed when `path` points to a directory.');
    }
    const { entries, isCut } = await walk(files.sandbox, found.path, { depth: 2, signal });
    const isHidden = (part: string) => part.startsWith('.') || part === 'node_modules';
    const shown = entries.filter((entry) => !entry.path.split('/').some(isHidden));
    const lines = [path, ...shown.map((entry) => posix.join(path, entry.path) + (entry.type === 'folder' ? '/' : ''))];
    const cut = isCut ? '\n[the directory has more entries]' : '';
    const head = `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:`;
    return textResult(clipped(`${head}\n${lines.join('\n')}${cut}\n`, most), { path, type: 'directory' });
  }
  const lines = linesOf(await files.readLocated(path, found, signal));
  const [first, last] = range === undefined ? [1, lines.length] : toRange(range, lines.length);
  const text = numbered(lines.slice(first - 1, last), first);
  return textResult(clipped(`Here's the result of running \`cat -n\` on ${path}:\n${text}\n`, most), {
    path,
    type: 'file',
    lines: lines.length,
  });
}

function toRange(range: readonly number[], count: number): readonly [number, number] {
  const invalid = (why: string) => new ToolError(`Invalid \`view_range\`: ${JSON.stringify(range)}. ${why}`);
  const [first, last] = range;
  if (range.length !== 2 || first === undefined || last === undefined) {
    throw invalid('It should be a list of two integers.');
  }
  if (first < 1 || first > Math.max(count, 1)) {
    throw invalid(`Its first element \`${first}\` should be within the range of lines of the file: [1, ${count}]`);
  }
  if (last === -1) return [first, count];
  if (last > count)
    throw invalid(
      `Its second element \`${last}\` should be smaller than the number of lines in the file: \`${count}\``,
    );
  if (last < first)
    throw invalid(`Its second element \`${last}\` should be larger or equal than its first \`${first}\``);
  return [first, last];
}

async function create(
  files: TextFiles,
  { path, file_text: text }: EditorArgs,
  signal: AbortSignal,
): Promise<ToolResult> {
  if (text === undefined) throw new ToolError('Parameter `file_text` is required for command: create');
  const { path: real } = await files.locate(path, signal);
  return await files.inLine([real], async () => {
    const found = await files.locate(path, signal);
    if (found.type !== 'missing') {
      throw new ToolError(`File already exists at: ${path}. Cannot overwrite files using command \`create\`.`);
    }
    await files.write(path, found, text, signal);
    return textResult(`File created successfully at: ${path}`, { path });
  });
}

async function replace(files: TextFiles, args: EditorArgs, signal: AbortSignal): Promise<ToolResult> {
  const { path, old_str: given, new_str: replacement = '' } = args;
  if (given === undefined) throw new ToolError('Parameter `old_str` is required for command: str_replace');
  if (given === '') throw new ToolError('Parameter `old_str` cannot be empty: name the text that is replaced.');
  return await change(files, path, signal, (text) => {
    const { old, isAdapted } = asWritten(text, given);
    const positions = positionsOf(text, old);
    const [position] = positions;
    if (position === undefined) {
      throw new ToolError(`No replacement was performed, old_str \`${given}\` did not appear verbatim in ${path}.`);
    }
    if (positions.length > 1) {
      const lines = positions.map((each) => lineAt(text, each));
      throw new ToolError(
        `No replacement was performed. Multiple occurrences of old_str \`${given}\` in lines [${lines.join(', ')}]. Please ensure it is unique`,
      );
    }
    const put =
      isAdapted || (hasCrlf(text) && !replacement.includes('\r')) ? withLineEnds(replacement, true) : replacement;
    const line = lineAt(text, position);
    return { text: replacedAt(text, position, old, put), from: line, count: replacement.split('\n').length };
  });
}

/** The text as the file has it: an agent sees LF and writes LF, also for a file with CRLF. */
function asWritten(text: string, given: string): { readonly old: string; readonly isAdapted: boolean } {
  if (text.includes(given) || !hasCrlf(text)) return { old: given, isAdapted: false };
  return { old: withLineEnds(given, true), isAdapted: true };
}

async function insert(files: TextFiles, args: EditorArgs, signal: AbortSignal): Promise<ToolResult> {
  const { path, insert_line: after, insert_text, new_str } = args;
  // Older versions of the tool name the text `new_str`.
  const given = insert_text ?? new_str;
  if (after === undefined) throw new ToolError('Parameter `insert_line` is required for command: insert');
  if (given === undefined) throw new ToolError('Parameter `insert_text` is required for command: insert');
  return await change(files, path, signal, (text) => insertedAfter(text, after, given));
}

/** Puts a text between two lines of a file. Both stay lines of their own. */
export function insertedAfter(text: string, after: number, given: string): Change {
  const count = linesOf(text).length;
  if (after < 0 || after > count) {
    throw new ToolError(
      `Invalid \`insert_line\` parameter: ${after}. It should be within the range of lines of the file: [0, ${count}]`,
    );
  }
  const isCrlf = hasCrlf(text);
  const end = isCrlf ? '\r\n' : '\n';
  let position = 0;
  for (let line = 0; line < after; line += 1) {
    const at = text.indexOf('\n', position);
    position = at === -1 ? text.length : at + 1;
  }
  const added = withLineEnds(given, isCrlf);
  const before = text.slice(0, position);
  const rest = text.slice(position);
  const isOpen = before !== '' && !before.endsWith('\n');
  // A file whose last line has no end keeps it so.
  const needsEnd = !added.endsWith('\n') && rest !== '';
  const put = `${isOpen ? end : ''}${isOpen ? added.replace(/\r?\n$/, '') : added}${needsEnd ? end : ''}`;
  return { text: before + put + rest, from: after + 1, count: given.replace(/\n$/, '').split('\n').length };
}

export interface Change {
  readonly text: string;
  /** First changed line, and the number of lines of the new text. */
  readonly from: number;
  readonly count: number;
}

async function change(
  files: TextFiles,
  path: string,
  signal: AbortSignal,
  edit: (text: string) => Change,
): Promise<ToolResult> {
  const { path: real } = await files.locate(path, signal);
  return await files.inLine([real], async () => {
    const found = await files.locate(path, signal);
    const changed = edit(await files.readLocated(path, found, signal));
    await files.write(path, found, changed.text, signal);
    const head = `The file ${path} has been edited. Here's the result of running \`cat -n\` on a snippet of ${path}:`;
    return textResult(`${head}\n${snippet(changed)}\n${REVIEW}`, { path });
  });
}

/** The changed lines with those around them. */
export function snippet({ text, from, count }: Change): string {
  const start = Math.max(1, from - AROUND);
  return clipped(numbered(linesOf(text).slice(start - 1, from + count - 1 + AROUND), start), MAX_VIEW);
}

function clipped(text: string, most: number): string {
  if (text.length <= most) return text;
  // A surrogate pair is not cut in two.
  const end = /[\uD800-\uDBFF]/.test(text[most - 1] ?? '') ? most - 1 : most;
  return text.slice(0, end) + CLIPPED;
}
