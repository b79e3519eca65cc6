import { ApiError, type ErrorCode } from '../../contract/errors.ts';
import type { Task } from '../../contract/task.ts';

/** Where tasks were found. */
export interface GivenOrigin {
  /** Name of the file in messages; null for a list that is not from a file. */
  readonly file: string | null;
  /** Lines count from 1, indices from 0. */
  readonly by: 'line' | 'index';
  /** The line or index of each task. Default: their indices. */
  readonly positions?: readonly number[];
}

/** Problems that a message lists before it says how many more there are. */
const MAX_LISTED = 20;

type Origin = Pick<GivenOrigin, 'file' | 'by'>;

/** One thing that is wrong with one task. */
export interface TaskProblem {
  /** The line, from 1, or the index, from 0; null where it is about the file. */
  readonly position: number | null;
  /** `args.id`; empty for the task itself. */
  readonly field: string;
  /** `has to be an integer, got "a".` */
  readonly sentence: string;
  readonly code?: ErrorCode;
}

/**
 * The error of tasks that cannot be played as they are. Its message has a line for each problem, at most 20 of them.
 *
 * @param total number of all problems; `problems` has the first ones.
 */
export function tasksRefused(
  origin: Origin,
  problems: readonly TaskProblem[],
  total = problems.length,
  cause?: unknown,
): ApiError {
  const shown = problems.slice(0, MAX_LISTED);
  const more = total > shown.length ? [`and ${total - shown.length} more`] : [];
  const lines = [...shown.map((problem) => toLine(origin, problem)), ...more];
  const [first] = shown;
  return new ApiError(first?.code ?? 'invalid_parameter', lines.join('\n'), { param: paramOf(origin, first), cause });
}

/** @throws ApiError that names both places of each id that two tasks have. */
export function refuseDuplicates(tasks: readonly Task[], origin: GivenOrigin): void {
  const positionOf = (index: number) => origin.positions?.[index] ?? index;
  const firsts = new Map<string, number>();
  const problems: TaskProblem[] = [];
  for (const [index, { id }] of tasks.entries()) {
    const first = firsts.get(id);
    if (first === undefined) {
      firsts.set(id, index);
      continue;
    }
    const other = origin.by === 'line' ? `line ${positionOf(first)}` : `tasks[${positionOf(first)}]`;
    const sentence = `${JSON.stringify(id)} is the id of ${other} too; each task needs an id of its own.`;
    problems.push({ position: positionOf(index), field: 'id', sentence });
  }
  if (problems.length > 0) throw tasksRefused(origin, problems);
}

function toLine({ file, by }: Origin, { position, field, sentence }: TaskProblem): string {
  const place = position === null ? [] : by === 'line' ? [] : [toPath(position, field)];
  const start = by === 'line' && position !== null ? `${file ?? ''}:${position}` : file;
  const name = by === 'line' && field !== '' ? [field] : [];
  return [...(start === null ? [] : [start]), ...place, ...name, sentence].join(': ');
}

/** `tasks[3].args.id` */
function toPath(index: number, field: string): string {
  return `tasks[${index}]${field === '' ? '' : `.${field}`}`;
}

/** The field of a request: a taskset that it names is at fault as a whole. */
function paramOf({ file, by }: Origin, problem: TaskProblem | undefined): string {
  if (file !== null || by === 'line' || problem === undefined || problem.position === null) return 'tasks';
  return toPath(problem.position, problem.field);
}
