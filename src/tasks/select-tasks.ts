import type { Task } from '../contract/task.ts';

/** One `--only`. `failed` and `errored` ask for attempts of an earlier evaluation: `selectTasks` leaves them to its caller. */
export type TaskFilter =
  | { readonly kind: 'failed' | 'errored' }
  | { readonly kind: 'tag'; readonly tag: string }
  | { readonly kind: 'ids'; readonly ids: ReadonlySet<string> }
  | { readonly kind: 'first'; readonly count: number }
  | { readonly kind: 'sample'; readonly count: number; readonly seed: string }
  /** `index` from 1. */
  | { readonly kind: 'shard'; readonly index: number; readonly count: number };

/**
 * Reads `failed`, `errored`, `tag=…`, `ids=a,b`, `first=N`, `sample=N:seed` or `shard=i/n`.
 *
 * @throws Error that says what is wrong, and the forms that there are.
 */
export function parseOnly(text: string): TaskFilter {
  throw new Error(`${text}: not yet`);
}

/**
 * The tasks for which all filters hold, in the given order. Those that look at one task hold before those that count
 * (`first`, `sample`), whatever their order.
 *
 * @throws Error for ids that no task has.
 */
export function selectTasks(_tasks: readonly Task[], _filters: readonly TaskFilter[]): readonly Task[] {
  throw new Error('not yet');
}
