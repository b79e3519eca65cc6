import type { Taskset } from './taskset.ts';

/**
 * Reads tasks that came as values, as in the body of a request: unknown fields are ignored.
 *
 * @throws TasksRefused with the `param` of the first problem: `tasks[3].args.id`.
 */
export function readTaskList(name: string | null, _values: readonly unknown[]): Taskset {
  throw new Error(`${name} cannot be read yet`);
}
