import { TasksReader } from './tasks-reader.ts';
import type { Taskset } from './taskset.ts';

/**
 * Reads tasks that came as values, as in the body of a request: unknown fields are ignored.
 *
 * @throws TasksRefused with the `param` of the first problem, such as `tasks[3].args.id`.
 */
export function readTaskList(name: string | null, values: readonly unknown[]): Taskset {
  const reader = new TasksReader({ file: null, by: 'index' }, 'request');
  for (const [index, value] of values.entries()) reader.take(index, value);
  return reader.finish(name);
}
