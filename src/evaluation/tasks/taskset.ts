import { createHash } from 'node:crypto';
import type { Task } from '../../contract/task.ts';
import { canonicalJson } from './canonical-json.ts';
import { type GivenOrigin, refuseDuplicates } from './tasks-refused.ts';

/** Tasks with unique ids. */
export interface Taskset {
  readonly name: string | null;
  /** In order of their ids, by code points. */
  readonly tasks: readonly Task[];
  /** SHA-256 of the canonical lines of its tasks, as 64 lowercase hex digits: the same tasks have the same version. */
  readonly version: string;
  readonly origin: TasksetOrigin;
}

/** Where the tasks of a taskset were found, for messages about them: `positions` is in the order of `tasks`. */
export type TasksetOrigin = Required<GivenOrigin>;

const LIST: GivenOrigin = { file: null, by: 'index' };

/**
 * Orders tasks, and computes their version.
 *
 * @throws ApiError for an id that two of them have, and for a text that has no UTF-8.
 */
export function createTaskset(name: string | null, given: readonly Task[], origin: GivenOrigin = LIST): Taskset {
  refuseDuplicates(given, origin);
  const order = given.map((_, index) => index).sort((a, b) => compareIds(idAt(given, a), idAt(given, b)));
  const tasks = order.flatMap((index) => given[index] ?? []);
  const positions = order.map((index) => origin.positions?.[index] ?? index);
  return { name, tasks, version: hashLines(tasks), origin: { file: origin.file, by: origin.by, positions } };
}

/** SHA-256 of the content of a task, as 64 lowercase hex digits. Two tasks with one id and different hashes are different tasks. */
export function hashTaskContent({
  env,
  scenario,
  args,
  user_script,
}: Pick<Task, 'env' | 'scenario' | 'args' | 'user_script'>): string {
  const content = { env, scenario, args, ...(user_script === undefined ? {} : { user_script }) };
  return createHash('sha256').update(canonicalJson(content)).digest('hex');
}

/** The canonical line of a task: RFC 8785, defaults filled in, absent optionals left out. */
export function toCanonicalLine(task: Task): string {
  return canonicalJson({
    id: task.id,
    env: task.env,
    scenario: task.scenario,
    args: task.args,
    split: task.split,
    tags: task.tags,
    cluster: task.cluster,
    held_out: task.held_out,
    ...(task.max_steps === undefined ? {} : { max_steps: task.max_steps }),
    ...(task.timeout_seconds === undefined ? {} : { timeout_seconds: task.timeout_seconds }),
    ...(task.user_script === undefined ? {} : { user_script: task.user_script }),
  });
}

function hashLines(tasks: readonly Task[]): string {
  const hash = createHash('sha256');
  for (const [index, task] of tasks.entries()) hash.update(`${index === 0 ? '' : '\n'}${toCanonicalLine(task)}`);
  return hash.digest('hex');
}

/** Order of code points: a character beyond U+FFFF comes after all others, though its UTF-16 units do not. */
export function compareIds(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left !== right) return isSurrogate(left) === isSurrogate(right) ? left - right : isSurrogate(left) ? 1 : -1;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

function idAt(tasks: readonly Task[], index: number): string {
  return tasks[index]?.id ?? '';
}
