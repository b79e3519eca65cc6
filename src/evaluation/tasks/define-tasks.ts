import type { TaskInput } from '../../contract/task.ts';

/** Tasks of a module, or a function that gives them, also later. */
export type TasksInput = readonly TaskInput[] | (() => readonly TaskInput[] | Promise<readonly TaskInput[]>);

/**
 * Gives the tasks of a taskset module their type. The default export of a file in `tasksets/` is a taskset, which
 * `proctor eval` takes by its path or its name. The module runs in a process of its own whenever its tasks are asked for.
 * That is where they are checked: ids are unique, at most 100,000 tasks, and no other fields than these.
 *
 * @example
 * ```ts
 * export default defineTasks([
 *   { id: 'three', env: 'counter', scenario: 'count_to', args: { target: 3 }, split: 'test', tags: ['small'] },
 *   { id: 'seven', env: 'counter', scenario: 'count_to', args: { target: 7 }, cluster: 'primes', max_steps: 20 },
 * ]);
 * ```
 */
export function defineTasks(tasks: TasksInput): TasksInput {
  return tasks;
}
