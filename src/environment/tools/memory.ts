import { posix } from 'node:path';
import { z } from 'zod';
import type { Session } from '../authoring/definition.ts';
import { ToolError, type ToolResult } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import { insertedAfter, snippet } from './editor.ts';
import { lineAt, linesOf, numbered, positionsOf, replacedAt } from './line-texts.ts';
import { nativeMeta } from './native.ts';
import { textResult } from './tool-output.ts';

const ROOT = '/memories';
const MAX_LINES = 999_999;
/** Bytes of all files of a session. */
const MAX_BYTES = 16 * 1024 * 1024;
const DESCRIPTION =
  'Keeps notes in files below /memories for this session. Commands: view, create, str_replace, insert, delete and rename.';

const schema = {
  command: z.enum(['view', 'create', 'str_replace', 'insert', 'delete', 'rename']),
  path: z.string().optional().describe('Path below /memories; for all commands but rename.'),
  view_range: z.array(z.int()).length(2).optional().describe('For view: first and last line; -1 is the end.'),
  file_text: z.string().optional().describe('For create: the content.'),
  old_str: z.string().optional().describe('For str_replace: the text to replace.'),
  new_str: z.string().optional().describe('For str_replace: the text in its place.'),
  insert_line: z.int().optional().describe('For insert: the line after which the text goes.'),
  insert_text: z.string().optional().describe('For insert: the text.'),
  old_path: z.string().optional().describe('For rename.'),
  new_path: z.string().optional().describe('For rename.'),
};
type MemoryArgs = z.infer<z.ZodObject<typeof schema>>;

/** Adds `memory`: files of the session that live in this process. It needs no sandbox. */
export function memory(): ToolSet {
  return {
    addTo(env) {
      const stores = new WeakMap<Session, Map<string, string>>();
      const meta = nativeMeta({ role: 'memory', anthropic: 'memory_20250818' });
      env.tool('memory', { description: DESCRIPTION, args: schema, meta }, (args, { session }) => {
        const store = stores.get(session) ?? new Map<string, string>();
        stores.set(session, store);
        return run(store, args);
      });
    },
  };
}

function run(store: Map<string, string>, args: MemoryArgs): ToolResult {
  if (args.command === 'rename') return rename(store, needed(args, 'old_path'), needed(args, 'new_path'));
  const given = needed(args, 'path');
  const path = toPath(given);
  switch (args.command) {
    case 'view':
      return view(store, path, given, args.view_range);
    case 'create': {
      if (store.has(path) || isFolder(store, path)) throw new ToolError(`File ${given} already exists`);
      put(store, path, needed(args, 'file_text'));
      return textResult(`File created successfully at: ${given}`);
    }
    case 'str_replace':
      return replace(store, path, given, needed(args, 'old_str'), args.new_str ?? '');
    case 'insert': {
      const line = args.insert_line;
      if (line === undefined) throw new ToolError('Parameter `insert_line` is required for command: insert');
      put(store, path, insertedAfter(textOf(store, path, given), line, needed(args, 'insert_text')).text);
      return textResult(`The file ${given} has been edited.`);
    }
    case 'delete': {
      if (path === ROOT) throw new ToolError('Cannot delete the /memories directory itself');
      const gone = [...store.keys()].filter((each) => each === path || each.startsWith(`${path}/`));
      if (gone.length === 0) throw missing(given);
      for (const each of gone) store.delete(each);
      return textResult(`Successfully deleted ${given}`);
    }
  }
}

function view(
  store: Map<string, string>,
  path: string,
  given: string,
  range: readonly number[] | undefined,
): ToolResult {
  const text = store.get(path);
  if (text !== undefined) {
    const lines = linesOf(text);
    if (lines.length > MAX_LINES)
      throw new ToolError(`File ${given} exceeds maximum line limit of ${MAX_LINES} lines.`);
    const [first = 1, last = -1] = range ?? [];
    const shown = numbered(lines.slice(Math.max(first, 1) - 1, last === -1 ? undefined : last), Math.max(first, 1));
    return textResult(`Here's the content of ${given} with line numbers:\n${shown}`);
  }
  if (path !== ROOT && !isFolder(store, path)) throw missing(given);
  const sizes = new Map<string, number>([[path, 0]]);
  for (const [name, content] of [...store].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!name.startsWith(`${path}/`)) continue;
    const parts = name.slice(path.length + 1).split('/');
    if (parts.some((part) => part.startsWith('.') || part === 'node_modules')) continue;
    const size = Buffer.byteLength(content);
    for (let depth = 0; depth <= Math.min(parts.length, 2); depth += 1) {
      const above = [path, ...parts.slice(0, depth)].join('/');
      sizes.set(above, (sizes.get(above) ?? 0) + size);
    }
  }
  const lines = [...sizes].map(([name, size]) => `${sizeText(size)}\t${name}`);
  const head = `Here're the files and directories up to 2 levels deep in ${given}, excluding hidden items and node_modules:`;
  return textResult([head, ...lines].join('\n'));
}

function replace(
  store: Map<string, string>,
  path: string,
  given: string,
  old: string,
  replacement: string,
): ToolResult {
  const text = textOf(store, path, given);
  if (old === '') throw new ToolError('Parameter `old_str` cannot be empty: name the text that is replaced.');
  const positions = positionsOf(text, old);
  const [position] = positions;
  if (position === undefined) {
    throw new ToolError(`No replacement was performed, old_str \`${old}\` did not appear verbatim in ${given}.`);
  }
  if (positions.length > 1) {
    const lines = positions.map((each) => lineAt(text, each)).join(', ');
    throw new ToolError(
      `No replacement was performed. Multiple occurrences of old_str \`${old}\` in lines: ${lines}. Please ensure it is unique`,
    );
  }
  const changed = replacedAt(text, position, old, replacement);
  put(store, path, changed);
  const shown = snippet({ text: changed, from: lineAt(text, position), count: replacement.split('\n').length });
  return textResult(
    `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${shown}`,
  );
}

function rename(store: Map<string, string>, givenFrom: string, givenTo: string): ToolResult {
  const from = toPath(givenFrom);
  const to = toPath(givenTo);
  if (from === ROOT) throw new ToolError('Cannot rename the /memories directory itself');
  const moved = [...store].filter(([name]) => name === from || name.startsWith(`${from}/`));
  if (moved.length === 0) throw missing(givenFrom);
  if (store.has(to) || isFolder(store, to)) throw new ToolError(`The destination ${givenTo} already exists`);
  if (to.startsWith(`${from}/`)) throw new ToolError(`${givenFrom} cannot be moved into itself`);
  checkParents(store, to);
  for (const [name, content] of moved) {
    store.delete(name);
    store.set(to + name.slice(from.length), content);
  }
  return textResult(`Successfully renamed ${givenFrom} to ${givenTo}`);
}

function toPath(given: string): string {
  const path = posix.normalize(given).replace(/(?<=.)\/+$/, '');
  const isInside = path === ROOT || path.startsWith(`${ROOT}/`);
  if (!isInside || given.includes('\0')) throw new ToolError(`Path must start with ${ROOT}, got: ${given}`);
  return path;
}

function put(store: Map<string, string>, path: string, text: string): void {
  if (path === ROOT) throw new ToolError('The /memories directory is no file');
  checkParents(store, path);
  const others = [...store].reduce((sum, [name, each]) => sum + (name === path ? 0 : Buffer.byteLength(each)), 0);
  if (others + Buffer.byteLength(text) > MAX_BYTES) {
    throw new ToolError(`The memory is full: all files together have at most ${MAX_BYTES} bytes. Delete some.`);
  }
  store.set(path, text);
}

function checkParents(store: Map<string, string>, path: string): void {
  for (let above = posix.dirname(path); above !== '/'; above = posix.dirname(above)) {
    if (store.has(above)) throw new ToolError(`${above} is a file, and no directory`);
  }
}

function isFolder(store: Map<string, string>, path: string): boolean {
  return path === ROOT || [...store.keys()].some((name) => name.startsWith(`${path}/`));
}

function textOf(store: Map<string, string>, path: string, given: string): string {
  const text = store.get(path);
  if (text === undefined) throw missing(given);
  return text;
}

function missing(given: string): ToolError {
  return new ToolError(`The path ${given} does not exist. Please provide a valid path.`);
}

function needed(
  args: MemoryArgs,
  name: 'path' | 'file_text' | 'old_str' | 'insert_text' | 'old_path' | 'new_path',
): string {
  const value = args[name];
  if (value === undefined) throw new ToolError(`Parameter \`${name}\` is required for command: ${args.command}`);
  return value;
}

function sizeText(bytes: number): string {
  return bytes < 1024 ? `${bytes}B` : `${(bytes / 1024).toFixed(1)}K`;
}
