import { extname, resolve } from 'node:path';
import { openTasksFile, refuseFile } from './open-file.ts';
import { readJsonLines } from './read-jsonl.ts';
import { readJsonFile, readYamlFile, type TaskListFile } from './read-list-file.ts';
import { runModule } from './run-module.ts';
import { TasksReader } from './tasks-reader.ts';
import type { Taskset } from './taskset.ts';

/** Kinds of files that hold a taskset, by their ending. */
export const TASKSET_ENDINGS = ['.jsonl', '.json', '.yaml', '.yml', '.ts', '.mts', '.js', '.mjs'] as const;

export interface TasksetFileOptions {
  /** The name of the taskset. Default: the name in a `.json` or `.yaml` file; else none. */
  readonly name?: string | null;
  /** How messages name the file. Default: its path as it was given. */
  readonly label?: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads `.jsonl`, `.json`, `.yaml`, `.yml`, or a module (`.ts`, `.mts`, `.js`, `.mjs`), which runs in a process of its own.
 *
 * @throws ApiError that lists what is wrong with its tasks, by line or by index, and for a file that cannot be read;
 *   the reason of the signal.
 */
export async function readTasksetFile(path: string, options: TasksetFileOptions = {}): Promise<Taskset> {
  const { label = path, signal } = options;
  signal?.throwIfAborted();
  const ending = extname(path);
  if (ending === '.jsonl') {
    const reader = new TasksReader({ file: label, by: 'line' }, 'file');
    await readJsonLines(path, label, reader, signal);
    return reader.finish(options.name ?? null);
  }
  if (ending === '.json') return fromList(await readJsonFile(path, label), label, options);
  if (ending === '.yaml' || ending === '.yml') return fromList(await readYamlFile(path, label), label, options);
  if (TASKSET_ENDINGS.some((known) => known === ending)) return await fromModule(resolve(path), label, options);
  throw refuseFile(label, `A taskset is a file that ends with ${TASKSET_ENDINGS.join(', ')}.`);
}

function fromList(list: TaskListFile, label: string, { name }: TasksetFileOptions): Taskset {
  const reader = new TasksReader({ file: label, by: 'line' }, 'file');
  for (const [index, value] of list.values.entries()) reader.take(list.lines[index] ?? 1, value);
  return reader.finish(name ?? list.name ?? null);
}

async function fromModule(path: string, label: string, { name = null, signal }: TasksetFileOptions): Promise<Taskset> {
  await (await openTasksFile(path, label)).close();
  const reader = new TasksReader({ file: label, by: 'index' }, 'file');
  const taken = {
    task: (index: number, value: unknown) => reader.take(index, value),
    fault: (index: number, sentence: string) => reader.refuse(index, { field: '', sentence }),
  };
  await runModule(path, label, taken, signal);
  return reader.finish(name);
}
