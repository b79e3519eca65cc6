import { ToolError } from '../authoring/tool-result.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { globToPattern, Matcher } from './matcher.ts';
import { MAX_FILE_BYTES, walk } from './walk.ts';

const MAX_GLOB_RESULTS = 200;
const MAX_GREP_BYTES = 100 * 1024;
const MAX_LINE_CHARACTERS = 2_000;
const MAX_PATH_CHARACTERS = 4_096;

/** Paths below a folder that fit a pattern, in order. */
export async function globFiles(sandbox: Sandbox, folder: string, pattern: string, signal: AbortSignal) {
  if (pattern.startsWith('/') || pattern.split('/').includes('..')) {
    throw new ToolError(`The pattern ${JSON.stringify(pattern)} has to be relative, without "..".`);
  }
  const matcher = new Matcher(globToPattern(pattern), 's');
  const { entries, isCut } = await walk(sandbox, folder, { signal });
  const files = entries.flatMap(({ path, type }) => (type === 'file' ? [path] : []));
  const paths = matcher.indexes(files.join('\0'), '\0', MAX_PATH_CHARACTERS).map((index) => files[index] ?? '');
  return { paths: paths.slice(0, MAX_GLOB_RESULTS), omitted: Math.max(0, paths.length - MAX_GLOB_RESULTS), isCut };
}

/** Lines below a folder that fit a regular expression, as `path:line:text`. Binary files and long lines are left out. */
export async function grepFiles(
  sandbox: Sandbox,
  folder: string,
  matcher: Matcher,
  signal: AbortSignal,
): Promise<{ readonly lines: readonly string[]; readonly isCut: boolean }> {
  const found = new Map<string, string[]>();
  let bytes = 0;
  let failure: unknown;
  const onContent = (path: string, content: Buffer) => {
    if (failure !== undefined || bytes > 8 * MAX_GREP_BYTES || content.includes(0)) return;
    const text = content.subarray(0, MAX_FILE_BYTES).toString('utf8');
    let lines: string[] = [];
    try {
      lines = matchesOf(path, text, matcher);
    } catch (error) {
      failure = error; // The walk reads a stream, and its end tells.
    }
    bytes += lines.reduce((sum, line) => sum + line.length, 0);
    if (lines.length > 0) found.set(path, lines);
  };
  const walked = await walk(sandbox, folder, { signal, onContent });
  if (failure !== undefined) throw failure;
  const all = walked.entries.flatMap(({ path }) => found.get(path) ?? []);
  const lines: string[] = [];
  let kept = 0;
  for (const line of all) {
    kept += Buffer.byteLength(line) + 1;
    if (kept > MAX_GREP_BYTES) return { lines, isCut: true };
    lines.push(line);
  }
  return { lines, isCut: walked.isCut || bytes > 8 * MAX_GREP_BYTES };
}

/** Lines of one text that fit. */
export function matchesOf(path: string, text: string, matcher: Matcher): string[] {
  const whole = text.replaceAll('\r\n', '\n').replace(/\n$/, '');
  const lines = whole.split('\n');
  return matcher.indexes(whole, '\n', MAX_LINE_CHARACTERS).map((index) => `${path}:${index + 1}:${lines[index]}`);
}
