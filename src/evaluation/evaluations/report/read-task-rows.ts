import { z } from 'zod';
import type { TaskList, TaskRow } from '../../../contract/service/evaluation.ts';
import type { OutcomeCounts } from '../../../contract/service/outcome.ts';
import type { GradesQuery } from '../../../contract/service/replay.ts';
import type { Database } from '../../../store/database/database.ts';
import { parsePageCursor, parsePageLimit, toPageCursor } from '../../../store/database/page-cursor.ts';
import { type EvaluationPlan, outcomeOfRest, readPlan } from '../evaluation-plan.ts';
import { addTo, type Cell, countOutcomes, readCells, type TaskRange } from './read-cells.ts';

/** Rows of a page. */
const TASK_ROWS_LIMIT = { default: 100, minimum: 1, maximum: 1_000 } as const;

export interface TaskRowsQuery {
  readonly evaluationId: string;
  readonly model?: string | undefined;
  readonly taskId?: string | undefined;
  readonly grades?: GradesQuery | undefined;
  readonly limit?: number | undefined;
  /** The `next_cursor` of the page before. */
  readonly cursor?: string | undefined;
}

/**
 * A row for each task and model, in order of task id, then of the evaluation's models; those that have not begun too.
 *
 * @throws ApiError evaluation_not_found; invalid_parameter for a limit out of range and a cursor of another list.
 */
export async function readTaskRows(database: Database, query: TaskRowsQuery): Promise<TaskList> {
  const limit = parsePageLimit(query.limit, TASK_ROWS_LIMIT);
  const list = ['tasks', query.evaluationId, query.model ?? null, query.taskId ?? null, query.grades ?? null];
  const start = query.cursor === undefined ? 0 : parsePageCursor(query.cursor, list, positionSchema);
  const plan = await readPlan(database.kysely, query.evaluationId);
  const models = plan.models.flatMap((model, index) => ((query.model ?? model) === model ? [index] : []));
  const range = await rangeOf(database, plan, query.taskId);
  // Rows are numbered by task and model, so the number gives the place.
  const end = range.to * models.length;
  const first = Math.max(start, range.from * models.length);
  const last = Math.min(end, first + limit);
  const data = first >= last ? [] : await readRows(database, plan, { models, first, last, grades: query.grades });
  return { object: 'list', data, next_cursor: last < end ? toPageCursor(list, last) : null };
}

const positionSchema = z.int().min(0);

/** All tasks, or only the requested one; empty if it does not exist. */
async function rangeOf({ kysely }: Database, plan: EvaluationPlan, taskId: string | undefined): Promise<TaskRange> {
  if (taskId === undefined) return { from: 0, to: plan.tasks };
  const task = await kysely
    .selectFrom('evaluation_tasks')
    .select('task_index')
    .where('evaluation_id', '=', plan.evaluationId)
    .where('task_id', '=', taskId)
    .executeTakeFirst();
  return task === undefined ? { from: 0, to: 0 } : { from: task.task_index, to: task.task_index + 1 };
}

interface RowsOfPage {
  /** Their indexes in the evaluation. */
  readonly models: readonly number[];
  readonly first: number;
  /** The one after the last. */
  readonly last: number;
  readonly grades: GradesQuery | undefined;
}

async function readRows(
  database: Database,
  plan: EvaluationPlan,
  { models, first, last, grades }: RowsOfPage,
): Promise<TaskRow[]> {
  const range = { from: Math.floor(first / models.length), to: Math.ceil(last / models.length) };
  const tasks = await readTasks(database, plan, range);
  const cells = new Map(
    (await readCells(database.scans, plan, range, { models, grades })).map((cell) => [
      cell.taskIndex * plan.models.length + cell.modelIndex,
      cell,
    ]),
  );
  const rows: TaskRow[] = [];
  for (let number = first; number < last; number++) {
    const task = tasks[Math.floor(number / models.length) - range.from];
    const model = models[number % models.length] ?? 0;
    if (task === undefined) continue; // The evaluation was deleted meanwhile.
    const cell = cells.get(task.task_index * plan.models.length + model);
    rows.push(toTaskRow(plan, { id: task.task_id, cluster: task.cluster, model: plan.models[model] ?? '' }, cell));
  }
  return rows;
}

async function readTasks({ scans }: Database, { evaluationId }: EvaluationPlan, { from, to }: TaskRange) {
  return await scans
    .selectFrom('evaluation_tasks')
    .select(['task_index', 'task_id', 'cluster'])
    .where('evaluation_id', '=', evaluationId)
    .where('task_index', '>=', from)
    .where('task_index', '<', to)
    .orderBy('task_index')
    .execute();
}

function toTaskRow(
  plan: EvaluationPlan,
  { id, cluster, model }: { readonly id: string; readonly cluster: string; readonly model: string },
  cell: Cell | undefined,
): TaskRow {
  const outcomes: OutcomeCounts = {};
  if (cell !== undefined) countOutcomes(outcomes, cell);
  const rest = outcomeOfRest(plan);
  if (rest !== undefined) addTo(outcomes, rest, plan.attempts - (cell?.done ?? 0));
  const valid = cell?.valid ?? 0;
  const passed = cell?.passed ?? 0;
  return {
    task_id: id,
    model,
    cluster,
    attempts: plan.attempts,
    valid,
    mean: cell?.mean ?? null,
    passed,
    pass_rate: valid === 0 ? null : passed / valid,
    outcomes,
  };
}
