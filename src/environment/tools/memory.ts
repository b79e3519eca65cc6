import { z } from 'zod';
import { ToolError } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import { type MemoryFiles, newMemoryFiles, ROOT } from './memory-files.ts';
import { nativeMeta } from './native.ts';
import { type Edit, insertAfter, lineAt, numbered, occurrences, replaceAt, snippetOf } from './text-edits.ts';

/** Lines of a file that a memory shows. */
const MAX_LINES = 999_999;

const ARGS = {
  command: z.enum(['view', 'create', 'str_replace', 'insert', 'delete', 'rename']).describe('The command.'),
  path: z.string().optional().describe(`A path below ${ROOT}.`),
  view_range: z.array(z.int()).length(2).optional().describe('For view: first and last line; -1 is the end.'),
  file_text: z.string().optional().describe('For create: the content.'),
  old_str: z.string().optional().describe('For str_replace: the text to replace, which is there exactly once.'),
  new_str: z.string().optional().describe('For str_replace: the text in its place.'),
  insert_line: z.int().optional().describe('For insert: the line after which to insert; 0 is the beginning.'),
  insert_text: z.string().optional().describe('For insert: the text.'),
  old_path: z.string().optional().describe('For rename.'),
  new_path: z.string().optional().describe('For rename.'),
};

type MemoryArgs = Readonly<z.infer<z.ZodObject<typeof ARGS>>>;

/**
 * The tool `memory`: text files below `/memories`, which the session keeps in its own memory and which end with it. Names,
 * arguments and texts are those of Anthropic's `memory_20250818`. It needs no sandbox.
 */
export function memory(): ToolSet {
  return {
    addTo(env) {
      const files = newMemoryFiles();
      env.tool(
        'memory',
        {
          description: `Notes in text files below ${ROOT}: views, makes, edits, removes and renames them.`,
          args: ARGS,
          annotations: { destructiveHint: true, openWorldHint: false },
          meta: nativeMeta('memory', { anthropic: 'memory_20250818' }),
        },
        (args) => run(files, args),
      );
    },
  };
}

function run(files: MemoryFiles, args: MemoryArgs): string {
  const { command } = args;
  if (command === 'rename') {
    const from = need(args.old_path, 'old_path', command);
    const to = need(args.new_path, 'new_path', command);
    files.rename(from, to);
    return `Successfully renamed ${from} to ${to}`;
  }
  const path = need(args.path, 'path', command);
  if (command === 'view') return view(files, path, args.view_range);
  if (command === 'delete') {
    files.remove(path);
    return `Successfully deleted ${path}`;
  }
  if (command === 'create') {
    if (files.has(path)) throw new ToolError(`File ${path} already exists`);
    files.write(path, need(args.file_text, 'file_text', command));
    return `File created successfully at: ${path}`;
  }
  if (command === 'insert') {
    const line = args.insert_line ?? Number.NaN;
    const text = files.read(path);
    const last = text === '' ? 0 : text.replace(/\n$/, '').split('\n').length;
    if (!(line >= 0 && line <= last)) {
      throw new ToolError(
        `Invalid \`insert_line\` parameter: ${args.insert_line}. It should be within the range of lines of the file: [0, ${last}]`,
      );
    }
    files.write(path, insertAfter(text, line, need(args.insert_text, 'insert_text', command)).text);
    return `The file ${path} has been edited.`;
  }
  const edit = replace(files.read(path), path, need(args.old_str, 'old_str', command), args.new_str ?? '');
  files.write(path, edit.text);
  return `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippetOf(edit)}`;
}

function view(files: MemoryFiles, path: string, range: readonly number[] | undefined): string {
  const entries = files.list(path);
  if (entries !== undefined) {
    const lines = entries.map((entry) => `${sizeText(entry.size)}\t${entry.path}`);
    return `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:\n${lines.join('\n')}`;
  }
  const lines = files.read(path).split('\n');
  if (lines.length > MAX_LINES) throw new ToolError(`File ${path} exceeds maximum line limit of ${MAX_LINES} lines.`);
  const [first = 1, last = -1] = range ?? [];
  const end = last === -1 ? lines.length : last;
  if (first < 1 || first > lines.length || end < first) {
    throw new ToolError(`Invalid \`view_range\`: [${first}, ${last}]. The file has ${lines.length} lines.`);
  }
  return `Here's the content of ${path} with line numbers:\n${numbered(lines.slice(first - 1, end).join('\n'), first)}`;
}

function replace(text: string, path: string, oldText: string, newText: string): Edit {
  const found = oldText === '' ? [] : occurrences(text, oldText);
  const [position] = found;
  if (position === undefined) {
    throw new ToolError(`No replacement was performed, old_str \`${oldText}\` did not appear verbatim in ${path}.`);
  }
  if (found.length > 1) {
    const lines = [...new Set(found.map((each) => lineAt(text, each)))].join(', ');
    throw new ToolError(
      `No replacement was performed. Multiple occurrences of old_str \`${oldText}\` in lines: ${lines}. Please ensure it is unique`,
    );
  }
  return replaceAt(text, position, oldText, newText);
}

function need(value: string | undefined, name: string, command: string): string {
  if (value === undefined) throw new ToolError(`Parameter \`${name}\` is required for command: ${command}`);
  return value;
}

/** Bytes as `du -h` shows them. */
function sizeText(bytes: number): string {
  return bytes < 1024 ? `${bytes}B` : `${(bytes / 1024).toFixed(1)}K`;
}
