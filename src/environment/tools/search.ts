import { ToolError } from '../authoring/tool-result.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { MAX_FILE_BYTES, walk } from './walk.ts';

const MAX_GLOB_RESULTS = 200;
const MAX_GREP_BYTES = 100 * 1024;
const MAX_LINE_CHARACTERS = 2_000;

/** Paths below a folder that fit a pattern, in order. */
export async function globFiles(sandbox: Sandbox, folder: string, pattern: string, signal: AbortSignal) {
  const fits = globExpression(pattern);
  const { entries, isCut } = await walk(sandbox, folder, { signal });
  const paths = entries.flatMap(({ path, type }) => (type === 'file' && fits.test(path) ? [path] : []));
  return { paths: paths.slice(0, MAX_GLOB_RESULTS), omitted: Math.max(0, paths.length - MAX_GLOB_RESULTS), isCut };
}

/** Lines below a folder that fit a regular expression, as `path:line:text`. Binary files and long lines are left out. */
export async function grepFiles(
  sandbox: Sandbox,
  folder: string,
  expression: RegExp,
  signal: AbortSignal,
): Promise<{ readonly lines: readonly string[]; readonly isCut: boolean }> {
  const found = new Map<string, string[]>();
  let bytes = 0;
  const onContent = (path: string, content: Buffer) => {
    if (bytes > 8 * MAX_GREP_BYTES || content.includes(0)) return;
    const text = content.subarray(0, MAX_FILE_BYTES).toString('utf8');
    const lines = matchesOf(path, text, expression);
    bytes += lines.reduce((sum, line) => sum + line.length, 0);
    if (lines.length > 0) found.set(path, lines);
  };
  const walked = await walk(sandbox, folder, { signal, onContent });
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
export function matchesOf(path: string, text: string, expression: RegExp): string[] {
  const lines = text.replace(/\n$/, '').split('\n');
  return lines.flatMap((line, index) => {
    const plain = line.replace(/\r$/, '');
    return plain.length <= MAX_LINE_CHARACTERS && expression.test(plain) ? [`${path}:${index + 1}:${plain}`] : [];
  });
}

/** @throws ToolError for a pattern that is no regular expression. */
export function toExpression(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch (error) {
    throw new ToolError(
      `The pattern ${JSON.stringify(pattern)} is no regular expression: ${error instanceof Error ? error.message : error}`,
    );
  }
}

/** `**` crosses folders, `*` and `?` do not, `{a,b}` is one of several. @throws ToolError for a path out of the folder. */
function globExpression(pattern: string): RegExp {
  if (pattern.startsWith('/') || pattern.split('/').includes('..')) {
    throw new ToolError(`The pattern ${JSON.stringify(pattern)} has to be relative, without "..".`);
  }
  let source = '';
  let depth = 0;
  for (let at = 0; at < pattern.length; at += 1) {
    const rest = pattern.slice(at);
    const character = pattern.charAt(at);
    if (rest.startsWith('**/')) {
      source += '(?:[^/]+/)*';
      at += 2;
    } else if (rest.startsWith('**')) {
      source += '.*';
      at += 1;
    } else if (character === '*') source += '[^/]*';
    else if (character === '?') source += '[^/]';
    else if (character === '{' && rest.includes('}')) {
      source += '(?:';
      depth += 1;
    } else if (character === '}' && depth > 0) {
      source += ')';
      depth -= 1;
    } else if (character === ',' && depth > 0) source += '|';
    else source += character.replace(/[.+^${}()|[\]\\]/, '\\$&');
  }
  return new RegExp(`^${source}${')'.repeat(depth)}$`, 's');
}
