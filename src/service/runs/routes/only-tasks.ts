import { everyItem } from '../../../client/requests.ts';
import { ApiError, messageOf } from '../../../contract/errors.ts';
import { missingOutcomes } from '../../../contract/service/outcome.ts';
import type {
  CreatedEvaluation,
  CreateOptions,
  EvaluationStore,
  NewEvaluation,
} from '../../../evaluation/evaluations/evaluation-store.ts';
import { parseOnly, selectTasks, type TaskFilter } from '../../../evaluation/tasks/select-tasks.ts';
import { createTaskset, type Taskset } from '../../../evaluation/tasks/taskset.ts';

/** The parsed `only` of a request. */
export interface OnlyTasks {
  /** Filters that a chosen task has to pass, all of them. */
  readonly filters: readonly TaskFilter[];
  /** Outcome of the earlier attempts to select by. */
  readonly ends: 'failed' | 'errored' | undefined;
}

/** @throws ApiError invalid_parameter for an unknown filter, and for two that exclude each other. */
export function parseOnlyList(texts: readonly string[], resume: boolean): OnlyTasks {
  const filters = refusing(() => texts.map(parseOnly));
  const kinds = new Set(filters.map(({ kind }) => kind));
  if (kinds.has('failed') && kinds.has('errored')) {
    throw refused('failed begins a new evaluation, errored goes on with one: take one of them.');
  }
  if (kinds.has('errored') && !resume) {
    throw refused('errored goes on with an evaluation: give "resume", or leave out --new.');
  }
  const ends = kinds.has('failed') ? 'failed' : kinds.has('errored') ? 'errored' : undefined;
  return { filters: filters.filter(({ kind }) => kind !== 'failed' && kind !== 'errored'), ends };
}

/** The tasks that pass all filters. @throws ApiError invalid_parameter if none is left. */
export function chooseTasks(taskset: Taskset, filters: readonly TaskFilter[]): Taskset {
  if (filters.length === 0) return taskset;
  const chosen = refusing(() => selectTasks(taskset.tasks, filters));
  return toSubset(taskset, new Set(chosen.map(({ id }) => id)));
}

interface FromEarlier {
  readonly wanted: NewEvaluation;
  /** The tasks that the other filters have left. */
  readonly taskset: Taskset;
  readonly ends: 'failed' | 'errored';
}

/**
 * Creates an evaluation from an earlier one. `errored` reruns, in the existing evaluation of the same settings, the
 * attempts without a reward. `failed` creates an evaluation of the tasks below the threshold.
 *
 * @throws ApiError invalid_parameter if there is no earlier evaluation or none of its tasks is below the threshold.
 */
export async function createFromEarlier(
  evaluations: EvaluationStore,
  { wanted, taskset, ends }: FromEarlier,
  options: CreateOptions,
): Promise<CreatedEvaluation> {
  const earlier = await evaluations.find(wanted);
  if (earlier === undefined) {
    throw refused(`${ends} looks at an earlier evaluation, and there is none of these settings.`);
  }
  if (ends === 'errored') {
    await runErroredAgain(earlier, wanted.account, evaluations);
    return await evaluations.create(wanted, options);
  }
  const failed = toSubset(taskset, await failedTasks(earlier, wanted, evaluations));
  if (failed.tasks.length === 0) throw refused(`no task of ${earlier} is below the threshold.`);
  const child = { ...wanted, taskset: failed, parent: earlier };
  // If every task has failed, the child has the same tasks and is the earlier evaluation itself.
  const isOther = (await evaluations.find(child)) !== earlier;
  return await evaluations.create(child, { ...options, resume: isOther && options.resume === true });
}

/** Reruns attempts with an error. Attempts that a budget stopped continue by themselves when the budget is raised. */
async function runErroredAgain(evaluationId: string, account: string, evaluations: EvaluationStore): Promise<void> {
  const { reports } = await evaluations.get(account, evaluationId);
  const outcomes = new Set(reports.flatMap((report) => missingOutcomes(report.outcomes)));
  outcomes.delete('over_budget');
  if (outcomes.size > 0) await evaluations.rerun(account, evaluationId, [...outcomes]);
}

interface TaskPage {
  readonly limit: number;
  readonly cursor?: string;
}

/** Tasks whose mean reward is below the threshold with at least one model. */
async function failedTasks(
  evaluationId: string,
  { account, passThreshold }: NewEvaluation,
  evaluations: EvaluationStore,
): Promise<ReadonlySet<string>> {
  const failed = new Set<string>();
  const first: TaskPage = { limit: 1_000 };
  const rows = everyItem(first, (page) => evaluations.tasks(account, evaluationId, page));
  for await (const { task_id, mean } of rows) if (mean !== null && mean < passThreshold) failed.add(task_id);
  return failed;
}

/** The tasks with these ids. Errors about them still name their lines in the file. */
function toSubset({ name, tasks, origin }: Taskset, ids: ReadonlySet<string>): Taskset {
  const kept = tasks.flatMap((task, index) =>
    ids.has(task.id) ? [{ task, position: origin.positions[index] ?? index }] : [],
  );
  return createTaskset(
    name,
    kept.map(({ task }) => task),
    { file: origin.file, by: origin.by, positions: kept.map(({ position }) => position) },
  );
}

function refusing<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw refused(messageOf(cause), cause);
  }
}

function refused(sentence: string, cause?: unknown): ApiError {
  return new ApiError('invalid_parameter', `only: ${sentence}`, { param: 'only', cause });
}
