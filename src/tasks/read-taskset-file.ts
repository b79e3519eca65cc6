import type { Taskset } from './taskset.ts';

export interface TasksetFileOptions {
  /** Of the taskset. Default: none. */
  readonly name?: string | null;
  /** How messages name the file. Default: its path as it was given. */
  readonly label?: string;
  readonly signal?: AbortSignal;
}

/**
 * Reads `.jsonl`, `.json`, `.yaml`, `.yml`, or a module (`.ts`, `.mts`, `.js`, `.mjs`), which runs in a process of its own.
 *
 * @throws TasksRefused that lists what is wrong with its tasks, by line or by index, and for a file that cannot be read.
 */
export async function readTasksetFile(path: string, _options: TasksetFileOptions = {}): Promise<Taskset> {
  throw new Error(`${path} cannot be read yet`);
}
