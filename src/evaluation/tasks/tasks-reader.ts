import type { ApiError } from '../../contract/errors.ts';
import { EVALUATION_LIMITS, type Task } from '../../contract/task.ts';
import { type FieldProblem, parseTask, type TaskForm } from './parse-task.ts';
import { type GivenOrigin, type TaskProblem, tasksRefused } from './tasks-refused.ts';
import { createTaskset, type Taskset } from './taskset.ts';

/** Problems that are kept: a message lists 20. The others are counted. */
const MAX_KEPT = 20;

/** Takes the tasks of one list, one by one, and keeps what is wrong with them. */
export class TasksReader {
  readonly #origin: Pick<GivenOrigin, 'file' | 'by'>;
  readonly #form: TaskForm;
  readonly #tasks: Task[] = [];
  readonly #positions: number[] = [];
  readonly #problems: TaskProblem[] = [];
  #total = 0;

  constructor(origin: Pick<GivenOrigin, 'file' | 'by'>, form: TaskForm) {
    this.#origin = origin;
    this.#form = form;
  }

  /** @param position its line or its index. @throws ApiError at the first task that is one too many. */
  take(position: number, value: unknown): void {
    const parsed = parseTask(value, this.#form);
    if (parsed.problems !== undefined) {
      for (const problem of parsed.problems) this.refuse(position, problem);
      return;
    }
    if (this.#tasks.length === EVALUATION_LIMITS.tasks) {
      this.refuse(position, { field: '', sentence: TOO_MANY });
      throw this.#refused();
    }
    this.#tasks.push(parsed.value);
    this.#positions.push(position);
  }

  /** @param position null for what is wrong with the file. */
  refuse(position: number | null, { field, sentence }: FieldProblem): void {
    this.#total += 1;
    if (this.#problems.length < MAX_KEPT) this.#problems.push({ position, field, sentence });
  }

  /** @throws ApiError for what is wrong, and where there is no task. */
  finish(name: string | null): Taskset {
    if (this.#total === 0 && this.#tasks.length === 0) this.refuse(null, { field: '', sentence: 'It has no tasks.' });
    if (this.#total > 0) throw this.#refused();
    return createTaskset(name, this.#tasks, { ...this.#origin, positions: this.#positions });
  }

  #refused(): ApiError {
    return tasksRefused(this.#origin, this.#problems, this.#total);
  }
}

const TOO_MANY = `A taskset has at most ${EVALUATION_LIMITS.tasks} tasks; split it into several.`;
