import { TasksReader } from './tasks-reader.ts';
import type { GivenOrigin } from './tasks-refused.ts';
import type { Taskset } from './taskset.ts';

const LIST: GivenOrigin = { file: null, by: 'index' };

/**
 * Reads tasks that came as values, as in the body of a request: unknown fields are ignored.
 *
 * @param origin where messages find the tasks. Default: in the list.
 * @throws ApiError with the `param` of the first problem, such as `tasks[3].args.id`.
 */
export function readTaskList(
  name: string | null,
  values: readonly unknown[],
  { positions, ...origin }: GivenOrigin = LIST,
): Taskset {
  const reader = new TasksReader(origin, 'request');
  for (const [index, value] of values.entries()) reader.take(positions?.[index] ?? index, value);
  return reader.finish(name);
}
