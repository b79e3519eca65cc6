import { type Selectable, sql } from 'kysely';
import { z } from 'zod';
import { ApiError } from '../../contract/errors.ts';
import { isEnded } from '../../contract/service/ended.ts';
import type { AttemptList, EvaluationAttempt } from '../../contract/service/evaluation.ts';
import type { Outcome } from '../../contract/service/outcome.ts';
import { sumUsage } from '../../contract/service/usage.ts';
import type { Database } from '../../store/database/database.ts';
import { parsePageCursor, parsePageLimit, toPageCursor } from '../../store/database/page-cursor.ts';
import type { EvaluationAttemptsTable } from '../../store/database/tables/schema.ts';
import { type AttemptGrid, type AttemptPlace, begunOf, seedOf } from './attempt-order.ts';
import type { EvaluationRow } from './evaluation-rows.ts';
import { type EvaluationSettings, parseSettings } from './evaluation-settings.ts';
import type { AttemptQuery } from './evaluation-store.ts';
import { resultColumns } from './report/read-cells.ts';

/** Attempts of a page. */
const LIMIT = { default: 100, minimum: 1, maximum: 1_000 } as const;

type AttemptRow = Selectable<EvaluationAttemptsTable>;

/** The attempts of a list, by their place. */
interface Range {
  readonly grid: AttemptGrid;
  /** Index of the task; undefined for all tasks. */
  readonly taskIndex: number | undefined;
  readonly modelIndex: number | undefined;
  /** First place that can be in the page. */
  readonly from: AttemptPlace;
}

const placeSchema = z.tuple([z.int().min(0), z.int().min(0), z.int().min(1)]);

/**
 * One page of the attempts of an evaluation, by task, model and attempt. Attempts that have not started have no rows;
 * they are added from the evaluation's plan.
 *
 * @throws ApiError invalid_parameter for a limit or cursor that is not one of this list.
 */
export async function listAttempts(
  database: Database,
  row: EvaluationRow,
  query: AttemptQuery,
  toTraceUrl: (traceId: string) => string,
): Promise<AttemptList> {
  const limit = parsePageLimit(query.limit, LIMIT);
  const settings = parseSettings(row.settings);
  const range = await rangeOf(database, row, settings, query);
  if (range === undefined) return { object: 'list', data: [], next_cursor: null };
  const begun = await readRows(database, row, range, { ...query, limit: limit + 1 });
  const unbegun = placesWithoutRow(row, range, { limit: limit + 1, outcome: query.outcome });
  const found = [...begun.map((each) => ({ place: placeOf(each), row: each })), ...unbegun].toSorted((a, b) =>
    comparePlaces(a.place, b.place),
  );
  const page = found.slice(0, limit);
  const ids = await readTaskIds(
    database,
    row,
    page.map(({ place }) => place.taskIndex),
  );
  const context = { evaluation: row, settings, toTraceUrl, grades: query.grades };
  const data = page.map((each) => toAttempt(context, each, ids.get(each.place.taskIndex) ?? ''));
  const next = found[limit]?.place;
  return {
    object: 'list',
    data,
    next_cursor:
      next === undefined
        ? null
        : toPageCursor(nameOf(row, query), [next.taskIndex, next.modelIndex, next.attemptIndex]),
  };
}

/** @returns undefined if the evaluation has no such task. */
async function rangeOf(
  database: Database,
  row: EvaluationRow,
  { models }: EvaluationSettings,
  query: AttemptQuery,
): Promise<Range | undefined> {
  const modelIndex = query.model === undefined ? undefined : models.indexOf(query.model);
  if (modelIndex === -1) throw unknownModel(query.model ?? '', models);
  const taskIndex = query.task_id === undefined ? undefined : await taskIndexOf(database, row, query.task_id);
  if (query.task_id !== undefined && taskIndex === undefined) return undefined;
  const [task, model, attempt] =
    query.cursor === undefined
      ? [taskIndex ?? 0, modelIndex ?? 0, 1]
      : parsePageCursor(query.cursor, nameOf(row, query), placeSchema);
  return {
    grid: { tasks: row.tasks, models: models.length, attempts: row.attempts },
    taskIndex,
    modelIndex,
    from: { taskIndex: task, modelIndex: model, attemptIndex: attempt },
  };
}

function nameOf({ evaluation_id }: EvaluationRow, { model, task_id, outcome, grades }: AttemptQuery) {
  return ['attempts', evaluation_id, model, task_id, outcome, grades];
}

function unknownModel(model: string, models: readonly string[]): ApiError {
  return new ApiError(
    'invalid_parameter',
    `The evaluation has no model ${JSON.stringify(model.slice(0, 100))}. Its models: ${models.join(', ')}.`,
    { param: 'model' },
  );
}

async function taskIndexOf(database: Database, row: EvaluationRow, taskId: string): Promise<number | undefined> {
  const found = await database.kysely
    .selectFrom('evaluation_tasks')
    .select('task_index')
    .where('evaluation_id', '=', row.evaluation_id)
    .where('task_id', '=', taskId)
    .executeTakeFirst();
  return found?.task_index;
}

async function readRows(
  database: Database,
  row: EvaluationRow,
  { from, taskIndex, modelIndex }: Range,
  { limit, outcome, grades }: Pick<AttemptQuery, 'grades' | 'outcome'> & { readonly limit: number },
): Promise<readonly AttemptRow[]> {
  // A filter by outcome may have to read all rows of the evaluation.
  const queries = outcome === undefined ? database.kysely : database.scans;
  let rows = queries
    .selectFrom('evaluation_attempts')
    .selectAll()
    .where('evaluation_id', '=', row.evaluation_id)
    .where(
      sql<boolean>`(task_index, model_index, attempt_index) >= (${from.taskIndex}, ${from.modelIndex}, ${from.attemptIndex})`,
    );
  if (taskIndex !== undefined) rows = rows.where('task_index', '=', taskIndex);
  if (modelIndex !== undefined) rows = rows.where('model_index', '=', modelIndex);
  if (outcome !== undefined) rows = rows.where(sql<boolean>`${resultColumns(grades).outcome} = ${outcome}`);
  // An attempt that is rerun has no outcome yet.
  if (outcome !== undefined && !isEnded(row.status)) rows = rows.where('state', '=', 'done');
  return await rows.orderBy('task_index').orderBy('model_index').orderBy('attempt_index').limit(limit).execute();
}

/** Attempts that have not started, from the start of the range. */
function placesWithoutRow(
  row: EvaluationRow,
  { grid, from, taskIndex, modelIndex }: Range,
  { limit, outcome }: { readonly limit: number; readonly outcome: Outcome | undefined },
): { readonly place: AttemptPlace; readonly row: undefined }[] {
  const found: { readonly place: AttemptPlace; readonly row: undefined }[] = [];
  if (outcome !== undefined && outcome !== outcomeWithoutRow(row)) return found;
  for (let task = from.taskIndex; task <= (taskIndex ?? grid.tasks - 1); task++) {
    const firstModel = task === from.taskIndex ? from.modelIndex : (modelIndex ?? 0);
    for (let model = firstModel; model <= (modelIndex ?? grid.models - 1); model++) {
      const isFirst = task === from.taskIndex && model === from.modelIndex;
      const begun = begunOf(grid, { taskIndex: task, modelIndex: model }, row.next_attempt);
      const first = Math.max(begun + 1, isFirst ? from.attemptIndex : 1);
      for (let attempt = first; attempt <= grid.attempts; attempt++) {
        found.push({ place: { taskIndex: task, modelIndex: model, attemptIndex: attempt }, row: undefined });
        if (found.length === limit) return found;
      }
    }
  }
  return found;
}

/** Outcome of an attempt that never started. A completed evaluation has none to start, unless its budget is used up. */
function outcomeWithoutRow({ status }: EvaluationRow): Outcome | null {
  if (status === 'cancelled') return 'cancelled';
  return status === 'completed' ? 'over_budget' : null;
}

async function readTaskIds(
  database: Database,
  row: EvaluationRow,
  taskIndices: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  if (taskIndices.length === 0) return new Map();
  const rows = await database.kysely
    .selectFrom('evaluation_tasks')
    .select(['task_index', 'task_id'])
    .where('evaluation_id', '=', row.evaluation_id)
    .where('task_index', 'in', [...new Set(taskIndices)])
    .execute();
  return new Map(rows.map(({ task_index, task_id }) => [task_index, task_id]));
}

interface AttemptContext {
  readonly evaluation: EvaluationRow;
  readonly settings: EvaluationSettings;
  readonly toTraceUrl: (traceId: string) => string;
  readonly grades: AttemptQuery['grades'];
}

function toAttempt(
  { evaluation, settings, toTraceUrl, grades }: AttemptContext,
  { place, row }: { readonly place: AttemptPlace; readonly row: AttemptRow | undefined },
  taskId: string,
): EvaluationAttempt {
  const isOpen = row !== undefined && row.state !== 'done' && !isEnded(evaluation.status);
  const isGraded = grades === 'current' && row?.grade_outcome != null;
  const result = {
    reward: isGraded ? row.grade_reward : row?.reward,
    outcome: isGraded ? row.grade_outcome : row?.outcome,
  };
  const reward = isOpen ? null : (result.reward ?? null);
  const traceId = row?.trace_id ?? null;
  return {
    trace_id: traceId,
    trace_url: traceId === null ? null : toTraceUrl(traceId),
    model: settings.models[place.modelIndex] ?? '',
    task_id: taskId,
    attempt_index: place.attemptIndex,
    outcome: row === undefined ? outcomeWithoutRow(evaluation) : isOpen ? null : (result.outcome as Outcome | null),
    reward,
    passed: reward !== null && reward >= settings.pass_threshold,
    seed: seedOf(settings.seed, taskId, place.attemptIndex),
    reruns: row?.rerun ?? 0,
    steps: row?.steps ?? 0,
    usage: parseOr(row?.usage, sumUsage([])),
    cost_usd: row?.cost_usd ?? null,
    duration_ms: row?.duration_ms == null ? null : Number(row.duration_ms),
    error: parseOr(row?.error, null),
  };
}

/** Rows hold what this package wrote, so that reading them back trusts them. */
function parseOr<T>(json: string | null | undefined, other: T): T {
  return json === null || json === undefined ? other : (JSON.parse(json) as T);
}

function placeOf(row: AttemptRow): AttemptPlace {
  return { taskIndex: row.task_index, modelIndex: row.model_index, attemptIndex: row.attempt_index };
}

function comparePlaces(a: AttemptPlace, b: AttemptPlace): number {
  return a.taskIndex - b.taskIndex || a.modelIndex - b.modelIndex || a.attemptIndex - b.attemptIndex;
}
