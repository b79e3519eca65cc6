import { statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { readTasksetFile } from '../../evaluation/tasks/read-taskset-file.ts';
import type { Taskset } from '../../evaluation/tasks/taskset.ts';
import { UsageError } from './failure.ts';
import { printable } from './terminal.ts';

const ENDINGS: ReadonlySet<string> = new Set(['.jsonl', '.json', '.yaml', '.yml', '.ts', '.mts', '.js', '.mjs']);

/**
 * Reads the taskset of a file. Undefined if the argument is a name. A file wins over a name.
 *
 * @throws UsageError for the path of a file that is not there. @throws ApiError
 */
export async function readTasksetAt(
  typed: string,
  directory: string,
  signal: AbortSignal,
): Promise<Taskset | undefined> {
  const path = resolve(directory, typed);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile()) return await readTasksetFile(path, { name: nameOf(typed), label: typed, signal });
  if (ENDINGS.has(extname(typed).toLowerCase()) || /^(\.\.)?[/\\]/.test(typed)) {
    const what = found === undefined ? 'There is no file' : 'This is no file:';
    throw new UsageError(`${what} ${JSON.stringify(printable(typed, 200))}.`);
  }
  return undefined;
}

/** Strips `./`, which tells a taskset named `list` from the sub-command `list`. */
export function tasksetName(typed: string): string {
  return typed.replace(/^\.\//, '');
}

/** File name without folder and extension: `nightly` for `tasks/nightly.jsonl`. */
function nameOf(typed: string): string {
  return typed.replace(/^.*[/\\]/, '').replace(/\.[^.]*$/, '');
}
