import type { TaskInput } from '../contract/task.ts';

/** Tasks of a module, or a function that gives them. */
export type TasksInput = readonly TaskInput[] | (() => readonly TaskInput[] | Promise<readonly TaskInput[]>);

/** Gives tasks a type, as the default export of a taskset module. They are checked when the file is read. */
export function defineTasks<const Tasks extends TasksInput>(tasks: Tasks): Tasks {
  return tasks;
}
