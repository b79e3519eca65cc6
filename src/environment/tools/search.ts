import { posix } from 'node:path';
import { z } from 'zod';
import type { EnvironmentServer } from '../authoring/environment-server.ts';
import { ToolError } from '../authoring/tool-result.ts';
import { OutputWindow } from '../sandbox/output-window.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { TextFiles, toText } from './file-turns.ts';
import { globToPattern, Matcher } from './matcher.ts';
import { walkFiles } from './walk-files.ts';

const MAX_PATHS = 200;
const MAX_GREP_BYTES = 100 * 1024;
/** Lines that are longer are no lines that somebody wrote. */
const MAX_LINE_LENGTH = 2_000;
/** Files that are larger are passed over, and counted. */
const MAX_SEARCHED_BYTES = 1024 * 1024;
const MAX_PATH_LENGTH = 4_096;
const folderPath = z.string().min(1).default('.').describe('A folder or file. Default: the working folder.');
const annotations = { readOnlyHint: true, openWorldHint: false } as const;

/** Adds `glob` and `grep`. They walk through the files of the sandbox, and need no program of its image. */
export function addSearchTools(env: EnvironmentServer, sandbox: Sandbox): void {
  env.tool(
    'glob',
    {
      description: `Lists files whose paths match a pattern such as **/*.ts, at most ${MAX_PATHS}.`,
      args: { pattern: z.string().min(1).max(MAX_PATH_LENGTH).describe('The pattern.'), path: folderPath },
      annotations,
    },
    async ({ pattern, path }, { signal }) => {
      if (pattern.startsWith('/') || pattern.split('/').includes('..')) {
        throw new ToolError(`glob: the pattern ${pattern} must be relative, and stay in the folder`);
      }
      const texts = TextFiles.of(sandbox);
      const { files, note } = await walkFiles(texts, texts.confined(path), signal);
      const matcher = new Matcher(globToPattern(pattern));
      const found = matcher.indexes(files.join('\0'), '\0', MAX_PATH_LENGTH).map((index) => files[index] ?? '');
      const lines = found.slice(0, MAX_PATHS).map((file) => posix.join(path, file));
      if (found.length > MAX_PATHS) lines.push(`[${found.length - MAX_PATHS} more]`);
      return [...(lines.length === 0 ? ['no matches'] : lines), ...(note === undefined ? [] : [note])].join('\n');
    },
  );
  env.tool(
    'grep',
    {
      description: `Finds lines of text files by a regular expression of JavaScript. Lines over ${MAX_LINE_LENGTH} characters are passed over.`,
      args: { pattern: z.string().min(1).max(MAX_PATH_LENGTH).describe('The regular expression.'), path: folderPath },
      annotations,
    },
    async ({ pattern, path }, { signal }) => await grep(sandbox, pattern, path, signal),
  );
}

async function grep(sandbox: Sandbox, pattern: string, path: string, signal: AbortSignal): Promise<string> {
  const files = TextFiles.of(sandbox);
  const folder = files.confined(path);
  const matcher = new Matcher(pattern);
  const entry = await files.stat(folder, signal);
  if (entry === undefined) throw new ToolError(`grep: ${path} does not exist`);
  const walk = entry.type === 'folder' ? await walkFiles(files, folder, signal) : { files: [''], note: undefined };
  const window = new OutputWindow(MAX_GREP_BYTES, 0);
  let count = 0;
  let tooLarge = 0;
  for (const name of walk.files) {
    const shown = name === '' ? path : posix.join(path, name);
    const full = posix.join(folder, name);
    const size = (name === '' ? entry : await files.stat(full, signal))?.size ?? 0;
    if (size > MAX_SEARCHED_BYTES) {
      tooLarge += 1;
      continue;
    }
    const text = toText(await files.readBytes(full, signal));
    if (text === undefined) continue;
    const lines = text.replaceAll('\r\n', '\n').replace(/\n$/, '');
    const rows = lines.split('\n');
    for (const index of matcher.indexes(lines, '\n', MAX_LINE_LENGTH)) {
      window.write(Buffer.from(`${count === 0 ? '' : '\n'}${shown}:${index + 1}:${rows[index]}`));
      count += 1;
    }
    if (window.omitted > 0) break;
  }
  const notes = walk.note === undefined ? [] : [walk.note];
  if (tooLarge > 0) notes.push(`[files over ${MAX_SEARCHED_BYTES} bytes that were passed over: ${tooLarge}]`);
  if (window.omitted > 0) notes.push('[there are more matches: search in a smaller folder, or for less]');
  return [count === 0 ? 'no matches' : window.text().trimEnd(), ...notes].join('\n');
}
