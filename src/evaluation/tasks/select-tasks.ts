import { createHash } from 'node:crypto';
import type { Task } from '../../contract/task.ts';
import { preview } from '../../support/schema/json-schema.ts';
import { compareIds } from './taskset.ts';

/** One `--only`. `failed` and `errored` ask for attempts of an earlier evaluation: `selectTasks` leaves them to its caller. */
export type TaskFilter =
  | { readonly kind: 'failed' | 'errored' }
  | { readonly kind: 'tag'; readonly tag: string }
  | { readonly kind: 'ids'; readonly ids: ReadonlySet<string> }
  | { readonly kind: 'first'; readonly count: number }
  | { readonly kind: 'sample'; readonly count: number; readonly seed: string }
  /** `index` from 1. */
  | { readonly kind: 'shard'; readonly index: number; readonly count: number };

const FORMS = 'failed, errored, tag=<tag>, ids=<id>,<id>, first=<N>, sample=<N>:<seed> or shard=<i>/<n>';
const MAX_SHARDS = 100_000;

/**
 * Reads `failed`, `errored`, `tag=…`, `ids=a,b`, `first=N`, `sample=N:seed` or `shard=i/n`.
 *
 * @throws Error that says what is wrong, and the forms that there are.
 */
export function parseOnly(text: string): TaskFilter {
  if (text === 'failed' || text === 'errored') return { kind: text };
  const [, kind = '', value = ''] = /^(\w+)=(.+)$/su.exec(text) ?? [];
  const filter = parseValue(kind, value);
  if (filter === undefined) throw new Error(`${preview(text)} selects no tasks; give ${FORMS}.`);
  return filter;
}

function parseValue(kind: string, value: string): TaskFilter | undefined {
  if (kind === 'tag' && value !== '') return { kind, tag: value };
  if (kind === 'ids') {
    const ids = value.split(',').filter((id) => id !== '');
    return ids.length === 0 ? undefined : { kind, ids: new Set(ids) };
  }
  const [, first = '', separator, second = ''] = /^(\d{1,9})(?:([:/])(.+))?$/su.exec(value) ?? [];
  const count = Number(first);
  if (count < 1) return undefined;
  if (kind === 'first' && separator === undefined) return { kind, count };
  if (kind === 'sample' && separator === ':') return { kind, count, seed: second };
  const shards = /^\d{1,9}$/.test(second) ? Number(second) : 0;
  if (kind === 'shard' && separator === '/' && count <= shards && shards <= MAX_SHARDS) {
    return { kind, index: count, count: shards };
  }
  return undefined;
}

/**
 * The tasks for which all filters hold, in the given order. Those that look at one task hold before those that count
 * (`first` and `sample`, in the order in which they are given).
 *
 * @throws Error for ids that no task has, and where no task is left.
 */
export function selectTasks(tasks: readonly Task[], filters: readonly TaskFilter[]): readonly Task[] {
  let left = tasks;
  for (const filter of filters) {
    if (filter.kind === 'ids') checkIds(tasks, filter.ids);
    left = left.filter((task) => holds(task, filter));
  }
  for (const filter of filters) {
    if (filter.kind === 'first') left = left.slice(0, filter.count);
    else if (filter.kind === 'sample') left = sample(left, filter);
  }
  if (left.length > 0 || filters.length === 0) return left;
  throw new Error(`No task of ${tasks.length} is left; ask for less at once.${tagsOf(tasks, filters)}`);
}

function holds(task: Task, filter: TaskFilter): boolean {
  if (filter.kind === 'tag') return task.tags.includes(filter.tag);
  if (filter.kind === 'ids') return filter.ids.has(task.id);
  if (filter.kind === 'shard') return shardOf(task.id, filter.count) === filter.index;
  return true;
}

/** From 1. The same for an id whatever else is in the taskset. */
function shardOf(id: string, count: number): number {
  // Six bytes are a number that is exact, and far more than there are shards.
  return (createHash('sha256').update(id).digest().readUIntBE(0, 6) % count) + 1;
}

/** Those with the smallest hashes: each task has the same chance, whatever the order, and more tasks change few of them. */
function sample(tasks: readonly Task[], { count, seed }: Extract<TaskFilter, { kind: 'sample' }>): readonly Task[] {
  const hashed = tasks.map((task) => ({
    task,
    hash: createHash('sha256').update(`${seed}\n${task.id}`).digest('hex'),
  }));
  const taken = new Set(
    hashed
      .sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : compareIds(a.task.id, b.task.id)))
      .slice(0, count)
      .map(({ task }) => task),
  );
  return tasks.filter((task) => taken.has(task));
}

function checkIds(tasks: readonly Task[], ids: ReadonlySet<string>): void {
  const known = new Set(tasks.map(({ id }) => id));
  const unknown = [...ids].filter((id) => !known.has(id));
  if (unknown.length === 0) return;
  const more = unknown.length > MAX_LISTED ? ` and ${unknown.length - MAX_LISTED} more` : '';
  const listed = unknown.slice(0, MAX_LISTED).map((id) => preview(id));
  throw new Error(`No task has the id ${listed.join(', ')}${more}.`);
}

/** Tags or ids that a message lists. */
const MAX_LISTED = 10;

function tagsOf(tasks: readonly Task[], filters: readonly TaskFilter[]): string {
  if (!filters.some(({ kind }) => kind === 'tag')) return '';
  const tags = [...new Set(tasks.flatMap((task) => task.tags))].slice(0, MAX_LISTED);
  return tags.length === 0 ? ' None of them has a tag.' : ` Tags are ${tags.map((tag) => preview(tag)).join(', ')}.`;
}
