import { z } from 'zod';
import { ApiError } from '../../contract/errors.ts';
import { isEnded } from '../../contract/service/ended.ts';
import { gradesQuerySchema } from '../../contract/service/replay.ts';
import { type EvaluationPlan, toPlan } from '../../evaluation/evaluations/evaluation-plan.ts';
import { findEvaluation } from '../../evaluation/evaluations/evaluation-rows.ts';
import type { Database } from '../../store/database/database.ts';
import { accountOf } from '../../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../../support/http/api/route.ts';
import type { CellsCache } from './cells-cache.ts';
import { CELL_FILTERS, type EvaluationData, type MatrixPage, TASK_SORTS } from './evaluation-data.ts';
import { readDrawnAttempts } from './read-drawn-attempts.ts';
import { selectTasks, toGroup } from './select-tasks.ts';
import { readOpen, type TaskCells } from './task-cells.ts';

/** Attempts that a reply may have: rows beyond it are left for the next one. */
const MOST_CELLS = 6_000;
/** A page may take one part in so many of the time with its requests. */
const SHARE = 100;
const LEAST_AGAIN_MS = 1_500;
const MOST_AGAIN_MS = 10_000;
/** A paused evaluation is looked at more seldom: somebody else may go on with it. */
const PAUSED_AGAIN_MS = 5_000;

const querySchema = z.object({
  /** The version that the page has of the same rows. */
  since: z.int().optional(),
  offset: z.int().min(0).default(0),
  limit: z.int().min(1).max(200).default(60),
  sort: z.enum(TASK_SORTS).default('id'),
  /** Name of the only model to show. */
  model: z.string().optional(),
  outcome: z.enum(CELL_FILTERS).optional(),
  differing: z.boolean().optional(),
  text: z.string().max(200).optional(),
  grades: gradesQuerySchema.optional(),
});
type DataQuery = z.output<typeof querySchema>;

/**
 * `GET /data/evaluations/{evaluation_id}`, for the page of an evaluation: counts of all attempts by model, and some of the
 * tasks with a letter for each attempt. It says when to ask again, so that an open page takes a small share of a core.
 */
export function createEvaluationDataRoute(database: Database, cache: CellsCache): Route {
  return defineRoute({
    method: 'GET',
    path: '/data/evaluations/:evaluation_id',
    summary: 'The attempts of an evaluation, compact, for its page',
    access: 'browser',
    query: querySchema,
    async handle({ params, queryValues, caller }) {
      const row = await findEvaluation(database.kysely, accountOf(caller), params.evaluation_id ?? '');
      const plan = toPlan(row);
      const hasEnded = isEnded(plan.status);
      // Reading the cells has a pace of its own; between two of them a reply says how many have ended.
      const { cells, version } = await cache.get(plan, queryValues.grades);
      const startedAt = performance.now();
      const open = hasEnded ? 0 : (await readOpen(database, plan.evaluationId)).length;
      const isKnown = queryValues.since === version;
      const page = isKnown ? undefined : await toPage(database, plan, cells, queryValues);
      const tookMs = performance.now() - startedAt;
      const body: EvaluationData = {
        status: plan.status,
        done: hasEnded ? cells.cells.length * cells.attempts : Math.max(0, plan.begun - open),
        version,
        again_ms: hasEnded ? null : againMs(plan, tookMs * SHARE),
        ...(page && { cells: page }),
      };
      return { body };
    },
  });
}

function againMs({ status }: EvaluationPlan, paceMs: number): number {
  const leastMs = status === 'paused' ? PAUSED_AGAIN_MS : LEAST_AGAIN_MS;
  return Math.ceil(Math.min(MOST_AGAIN_MS, Math.max(leastMs, paceMs)));
}

async function toPage(
  database: Database,
  { evaluationId }: EvaluationPlan,
  cells: TaskCells,
  query: DataQuery,
): Promise<MatrixPage> {
  const models = toModels(cells, query.model);
  const found = selectTasks(cells, { ...query, models });
  const rows = Math.max(1, Math.min(query.limit, Math.floor(MOST_CELLS / (models.length * cells.attempts))));
  const tasks = [...found.subarray(query.offset, query.offset + rows)];
  const drawn = await readDrawnAttempts(database, evaluationId, {
    tasks,
    attempts: cells.attempts,
    grades: query.grades,
  });
  return {
    attempts: cells.attempts,
    tasks: cells.taskIds.length,
    pass_threshold: cells.passThreshold,
    models: cells.byModel,
    shown: models.map((model) => cells.models[model] ?? ''),
    matched: found.length,
    offset: query.offset,
    rows: tasks.map((task) => ({
      id: cells.taskIds[task] ?? '',
      groups: models.map((model) => toGroup(cells, task, model, (attempt) => drawn(task, model, attempt))),
    })),
  };
}

/** @throws ApiError invalid_parameter for a model that the evaluation does not have. */
function toModels({ models }: TaskCells, name: string | undefined): readonly number[] {
  if (name === undefined) return models.map((_, index) => index);
  const index = models.indexOf(name);
  if (index !== -1) return [index];
  const had = models.slice(0, 5).join(', ');
  throw new ApiError('invalid_parameter', `model is ${JSON.stringify(name)}; the evaluation has ${had}.`, {
    param: 'model',
  });
}
