import { z } from 'zod';
import { cutToBytes } from '../../support/text/cut-to-bytes.ts';
import type { EnvironmentServer } from '../authoring/environment-server.ts';
import { ToolError } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { hasCrlf, linesOf, positionsOf, withLineEnds } from './line-texts.ts';
import { Matcher } from './matcher.ts';
import { globFiles, grepFiles, matchesOf } from './search.ts';
import { TextFiles } from './text-files.ts';
import { textResult } from './tool-output.ts';

const MAX_READ_BYTES = 256 * 1024;
const READS = { readOnlyHint: true, openWorldHint: false };
const WRITES = { openWorldHint: false };
const filePath = z.string().min(1).describe('Path of the file, relative to the working folder.');

/** Adds `read`, `write`, `edit`, `glob` and `grep`, for files of the working folder alone. */
export function files(sandbox: Sandbox): ToolSet {
  return {
    role: 'files',
    addTo(env) {
      const texts = new TextFiles(sandbox, { root: sandbox.workdir });
      addRead(env, texts);
      addWrite(env, texts);
      addEdit(env, texts);
      addGlob(env, texts);
      addGrep(env, texts);
    },
  };
}

function addRead(env: EnvironmentServer, texts: TextFiles): void {
  const description = `Reads a text file, or some of its lines. At most ${MAX_READ_BYTES / 1024} KiB are shown at once.`;
  const range = z.array(z.int()).length(2).optional().describe('First and last line, from 1 on; -1 is the end.');
  const args = { file_path: filePath, view_range: range };
  env.tool('read', { description, args, annotations: READS }, async ({ file_path, view_range }, { signal }) => {
    const { text } = await texts.read(file_path, signal);
    const lines = linesOf(text);
    const [first = 1, last = -1] = view_range ?? [];
    const end = last === -1 ? lines.length : last;
    if (view_range !== undefined && (first < 1 || end < first)) {
      throw new ToolError(
        `read: view_range [${first}, ${last}] is no range of lines; ${file_path} has ${lines.length}.`,
      );
    }
    const shown = view_range === undefined ? text : lines.slice(first - 1, end).join('\n');
    const { kept, isCut } = cutToBytes(shown, MAX_READ_BYTES);
    const note = isCut ? `\n[output truncated: use view_range; the file has ${lines.length} lines]` : '';
    return textResult(kept + note, { path: file_path, lines: lines.length, truncated: isCut });
  });
}

function addWrite(env: EnvironmentServer, texts: TextFiles): void {
  const description = 'Writes a text file: makes it, and the folders that it needs, or replaces it.';
  const args = { file_path: filePath, content: z.string().describe('The whole text of the file.') };
  env.tool('write', { description, args, annotations: WRITES }, async ({ file_path, content }, { signal }) => {
    const { path } = await texts.locate(file_path, signal);
    return await texts.inLine([path], async () => {
      await texts.write(file_path, await texts.locate(file_path, signal), content, signal);
      const bytes = Buffer.byteLength(content);
      return textResult(`wrote ${bytes} bytes to ${file_path}`, { path: file_path, bytes });
    });
  });
}

function addEdit(env: EnvironmentServer, texts: TextFiles): void {
  const description =
    'Replaces a text in a file. The old text has to match exactly, and to be there once, unless replace_all.';
  const args = {
    file_path: filePath,
    old_string: z.string().min(1).describe('The text to replace, with its white space.'),
    new_string: z.string().describe('The text in its place.'),
    replace_all: z.boolean().default(false).describe('True replaces each occurrence.'),
  };
  env.tool('edit', { description, args, annotations: WRITES }, async (given, { signal }) => {
    const { file_path, old_string, new_string, replace_all } = given;
    const { path } = await texts.locate(file_path, signal);
    return await texts.inLine([path], async () => {
      const found = await texts.locate(file_path, signal);
      const text = await texts.readLocated(file_path, found, signal);
      // An agent writes LF, also for a file with CRLF.
      const old = text.includes(old_string) ? old_string : withLineEnds(old_string, hasCrlf(text));
      const count = positionsOf(text, old).length;
      if (count === 0) throw new ToolError(`edit: old_string not found in ${file_path}`);
      if (count > 1 && !replace_all) {
        throw new ToolError(`edit: old_string appears ${count} times in ${file_path} (must be unique)`);
      }
      await texts.write(file_path, found, text.split(old).join(withLineEnds(new_string, hasCrlf(text))), signal);
      return textResult(`edited ${file_path} (${count} replacement(s))`, { path: file_path, replacements: count });
    });
  });
}

function addGlob(env: EnvironmentServer, texts: TextFiles): void {
  const description =
    'Lists files whose paths fit a pattern such as src/**/*.js, in the order of their names, 200 at most.';
  const args = { pattern: z.string().min(1).describe('The pattern: ** crosses folders, * and ? do not.') };
  env.tool('glob', { description, args, annotations: READS }, async ({ pattern }, { signal }) => {
    const { paths, omitted, isCut } = await globFiles(texts.sandbox, texts.sandbox.workdir, pattern, signal);
    const more = omitted > 0 || isCut ? `\n[output truncated: ${omitted} more files]` : '';
    const text = paths.length === 0 ? 'no matches' : paths.join('\n') + more;
    return textResult(text, { paths, truncated: omitted > 0 || isCut });
  });
}

function addGrep(env: EnvironmentServer, texts: TextFiles): void {
  const description =
    'Searches the lines of text files by a regular expression. Gives path:line:text. Binary files, files in .git and node_modules, and what follows the first MiB of a file are not searched.';
  const args = {
    pattern: z.string().min(1).describe('A regular expression.'),
    path: z.string().min(1).default('.').describe('The file or folder to search.'),
  };
  env.tool('grep', { description, args, annotations: READS }, async ({ pattern, path }, { signal }) => {
    const matcher = new Matcher(pattern);
    const found = await texts.locate(path, signal);
    const { lines, isCut } =
      found.type === 'folder'
        ? await grepFiles(texts.sandbox, found.path, matcher, signal)
        : { lines: matchesOf(path, await texts.readLocated(path, found, signal), matcher), isCut: false };
    const prefix = found.type !== 'folder' || path === '.' ? '' : `${path.replace(/^\.\/|\/+$/g, '')}/`;
    const text = lines.length === 0 ? 'no matches' : lines.map((line) => prefix + line).join('\n');
    return textResult(isCut ? `${text}\n[output truncated]` : text, { matches: lines.length, truncated: isCut });
  });
}
