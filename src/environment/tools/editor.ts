import { z } from 'zod';
import { ToolError } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { TextFiles } from './file-turns.ts';
import { nativeMeta } from './native.ts';
import {
  type Edit,
  inLineBreaksOf,
  insertAfter,
  lineAt,
  numbered,
  occurrences,
  replaceAt,
  snippetOf,
} from './text-edits.ts';

export const EDITOR_TOOL = 'str_replace_based_edit_tool';
/** Levels of folders that a view of a folder shows. */
const SHOWN_LEVELS = 2;
const REVIEW =
  'Review the changes and make sure they are as expected (correct indentation, no duplicate lines, etc). Edit the file again if necessary.';

const ARGS = {
  command: z.enum(['view', 'create', 'str_replace', 'insert']).describe('The command.'),
  path: z.string().min(1).describe('An absolute path, or one relative to the working folder.'),
  file_text: z.string().optional().describe('For create: the content of the new file.'),
  view_range: z.array(z.int()).optional().describe('For view: first and last line, from 1 on; -1 is the end.'),
  old_str: z.string().optional().describe('For str_replace: the text to replace, which is there exactly once.'),
  new_str: z.string().optional().describe('For str_replace: the text in its place.'),
  insert_line: z.int().optional().describe('For insert: the line after which to insert; 0 is the beginning.'),
  insert_text: z.string().optional().describe('For insert: the text.'),
};

/** Arguments of the editor, as its schema has read them. */
type EditorArgs = Readonly<z.infer<z.ZodObject<typeof ARGS>>>;

/**
 * The tool `str_replace_based_edit_tool`: views, makes and edits text files. Names, arguments and texts are those of
 * Anthropic's `text_editor_20250728`. Tabs, line breaks, the last line break and the mode of a file are kept.
 */
export function editor(sandbox: Sandbox): ToolSet {
  return {
    role: 'editor',
    addTo(env) {
      env.tool(
        EDITOR_TOOL,
        {
          description: 'Views, makes and edits text files, and lists folders.',
          args: ARGS,
          annotations: { destructiveHint: true, openWorldHint: false },
          meta: nativeMeta('editor', { anthropic: 'text_editor_20250728' }),
        },
        (args, { signal }) => edit(TextFiles.of(sandbox), args, signal),
      );
    },
  };
}

async function edit(files: TextFiles, args: EditorArgs, signal: AbortSignal): Promise<string> {
  if (args.command === 'view') return await view(files, args, signal);
  // The text of a file is read and written in one turn: of two edits at once, none is lost.
  return await files.inTurn([args.path], () => {
    if (args.command === 'create') return create(files, args, signal);
    return args.command === 'insert' ? insert(files, args, signal) : replace(files, args, signal);
  });
}

async function view(files: TextFiles, { path, view_range }: EditorArgs, signal: AbortSignal): Promise<string> {
  const entry = await files.stat(path, signal);
  if (entry === undefined) throw missing(path);
  if (entry.type === 'folder') {
    if (view_range !== undefined) {
      throw new ToolError('The `view_range` parameter is not allowed when `path` points to a directory.');
    }
    const names = await namesBelow(files, path, SHOWN_LEVELS, signal);
    return `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items:\n${[path, ...names].join('\n')}`;
  }
  const text = (await files.read(path, signal)).replaceAll('\r\n', '\n');
  if (view_range === undefined) return `Here's the result of running \`cat -n\` on ${path}:\n${numbered(text)}`;
  const lines = text.split('\n');
  const [first = 0, last = 0] = view_range;
  const problem = rangeProblem(view_range, lines.length);
  if (problem !== undefined) throw new ToolError(`Invalid \`view_range\`: ${JSON.stringify(view_range)}. ${problem}`);
  const shown = lines.slice(first - 1, last === -1 ? undefined : last);
  return `Here's the result of running \`cat -n\` on ${path}:\n${numbered(shown.join('\n'), first)}`;
}

function rangeProblem(range: readonly number[], lineCount: number): string | undefined {
  const [first = 0, last = 0] = range;
  if (range.length !== 2) return 'It should be a list of two integers.';
  if (first < 1 || first > lineCount) {
    return `Its first element \`${first}\` should be within the range of lines of the file: [1, ${lineCount}]`;
  }
  if (last === -1) return undefined;
  if (last > lineCount)
    return `Its second element \`${last}\` should be smaller than the number of lines in the file: \`${lineCount}\``;
  if (last < first) return `Its second element \`${last}\` should be larger or equal than its first \`${first}\``;
  return undefined;
}

async function namesBelow(
  files: TextFiles,
  path: string,
  levels: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (levels === 0) return [];
  const entries = (await files.list(path, signal)).filter(({ name }) => !name.startsWith('.'));
  const sorted = [...entries].sort((one, other) => (one.name < other.name ? -1 : 1));
  const names: string[] = [];
  for (const { name, type } of sorted) {
    const below = `${path.replace(/\/$/, '')}/${name}`;
    names.push(below);
    if (type === 'folder') names.push(...(await namesBelow(files, below, levels - 1, signal)));
  }
  return names;
}

async function create(files: TextFiles, { path, file_text }: EditorArgs, signal: AbortSignal): Promise<string> {
  if (file_text === undefined) throw required('file_text', 'create');
  if ((await files.stat(path, signal)) !== undefined) {
    throw new ToolError(`File already exists at: ${path}. Cannot overwrite files using command \`create\`.`);
  }
  await files.write(path, file_text, signal);
  return `File created successfully at: ${path}`;
}

async function replace(files: TextFiles, args: EditorArgs, signal: AbortSignal): Promise<string> {
  const { path, old_str: asked, new_str: wanted = '' } = args;
  if (asked === undefined || asked === '') throw required('old_str', 'str_replace');
  const text = await readFile(files, path, signal);
  // A file with mixed line breaks may have the text as the agent wrote it.
  const isPlain = text.includes(asked);
  const oldText = isPlain ? asked : inLineBreaksOf(text, asked);
  const found = occurrences(text, oldText);
  const [position] = found;
  if (position === undefined) {
    throw new ToolError(`No replacement was performed, old_str \`${asked}\` did not appear verbatim in ${path}.`);
  }
  if (found.length > 1) {
    const lines = [...new Set(found.map((each) => lineAt(text, each)))];
    throw new ToolError(
      `No replacement was performed. Multiple occurrences of old_str \`${asked}\` in lines [${lines.join(', ')}]. Please ensure it is unique`,
    );
  }
  const newText = inLineBreaksOf(text, wanted);
  return await save(files, path, replaceAt(text, position, oldText, newText), signal);
}

async function insert(files: TextFiles, args: EditorArgs, signal: AbortSignal): Promise<string> {
  const { path, insert_line: line, insert_text, new_str } = args;
  const inserted = insert_text ?? new_str;
  if (line === undefined) throw required('insert_line', 'insert');
  if (inserted === undefined) throw required('insert_text', 'insert');
  const text = await readFile(files, path, signal);
  const lineCount = text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  if (line < 0 || line > lineCount) {
    throw new ToolError(
      `Invalid \`insert_line\` parameter: ${line}. It should be within the range of lines of the file: [0, ${lineCount}]`,
    );
  }
  return await save(files, path, insertAfter(text, line, inLineBreaksOf(text, inserted)), signal);
}

async function readFile(files: TextFiles, path: string, signal: AbortSignal): Promise<string> {
  const entry = await files.stat(path, signal);
  if (entry === undefined) throw missing(path);
  if (entry.type === 'folder') {
    throw new ToolError(`The path ${path} is a directory and only the \`view\` command can be used on directories`);
  }
  return await files.read(path, signal);
}

async function save(files: TextFiles, path: string, edited: Edit, signal: AbortSignal): Promise<string> {
  await files.write(path, edited.text, signal);
  return `The file ${path} has been edited. Here's the result of running \`cat -n\` on a snippet of ${path}:\n${snippetOf(edited)}\n${REVIEW}`;
}

function missing(path: string): ToolError {
  return new ToolError(`The path ${path} does not exist. Please provide a valid path.`);
}

function required(parameter: string, command: string): ToolError {
  return new ToolError(`Parameter \`${parameter}\` is required for command: ${command}`);
}
