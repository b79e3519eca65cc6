import { statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { messageOf } from '../../contract/errors.ts';
import { readTasksetFile } from '../../tasks/read-taskset-file.ts';
import { selectTasks, type TaskFilter } from '../../tasks/select-tasks.ts';
import { createTaskset, type Taskset } from '../../tasks/taskset.ts';
import { UsageError } from '../failure.ts';
import { printable } from '../terminal.ts';

const ENDINGS: ReadonlySet<string> = new Set(['.jsonl', '.json', '.yaml', '.yml', '.ts', '.mts', '.js', '.mjs']);

/**
 * The taskset of a file, which wins over names; undefined for a name.
 *
 * @throws UsageError for the path of a file that is not there. @throws TasksRefused
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

/** `list` of `./list`, which is how a taskset is named that is called like a sub-command. */
export function tasksetName(typed: string): string {
  return typed.replace(/^\.\//, '');
}

/** `nightly` of `tasks/nightly.jsonl`. */
function nameOf(typed: string): string {
  return typed.replace(/^.*[/\\]/, '').replace(/\.[^.]*$/, '');
}

/** Those that `--only` leaves. @throws UsageError where it leaves none. */
export function chooseTasks(taskset: Taskset, filters: readonly TaskFilter[]): Taskset {
  if (filters.length === 0) return taskset;
  return subset(taskset, new Set(choose(taskset, filters).map(({ id }) => id)));
}

function choose(taskset: Taskset, filters: readonly TaskFilter[]) {
  try {
    return selectTasks(taskset.tasks, filters);
  } catch (cause) {
    throw new UsageError(`--only: ${messageOf(cause)}`, { cause });
  }
}

/** The tasks of these ids; messages about them still name the lines of the file. */
export function subset({ name, tasks, origin }: Taskset, ids: ReadonlySet<string>): Taskset {
  const kept = tasks.flatMap((task, index) =>
    ids.has(task.id) ? [{ task, position: origin.positions[index] ?? index }] : [],
  );
  return createTaskset(
    name,
    kept.map(({ task }) => task),
    { file: origin.file, by: origin.by, positions: kept.map(({ position }) => position) },
  );
}
