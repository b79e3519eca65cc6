import { z } from 'zod';
import { ApiError } from '../../contract/errors.ts';
import { gradesQuerySchema } from '../../contract/service/replay.ts';
import { type EvaluationPlan, toPlan } from '../../evaluation/evaluations/evaluation-plan.ts';
import { findEvaluation } from '../../evaluation/evaluations/evaluation-rows.ts';
import { matchTasks } from '../../evaluation/evaluations/report/pair-tasks.ts';
import type { Database } from '../../store/database/database.ts';
import { accountOf } from '../../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../../support/http/api/route.ts';
import type { CellsCache } from './cells-cache.ts';
import { COMPARED_KINDS, type ComparedKind, type ComparedTasks } from './evaluation-data.ts';
import { readDrawnAttempts } from './read-drawn-attempts.ts';
import { meanOf, toGroup } from './select-tasks.ts';
import type { TaskCells } from './task-cells.ts';

const querySchema = z.object({
  a: z.string(),
  b: z.string(),
  a_model: z.string(),
  b_model: z.string(),
  kind: z.enum(COMPARED_KINDS),
  offset: z.int().min(0).default(0),
  limit: z.int().min(1).max(200).default(60),
  grades: gradesQuerySchema.optional(),
});

interface Side {
  readonly cells: TaskCells;
  readonly model: number;
}

interface Pair {
  readonly a: number;
  readonly b: number;
  readonly difference: number;
}

/** `GET /data/evaluations/compared`, for the page that compares: tasks that one model has won, lost or tied. */
export function createComparedTasksRoute(database: Database, cache: CellsCache): Route {
  return defineRoute({
    method: 'GET',
    path: '/data/evaluations/compared',
    summary: 'Tasks of two models with their attempts, for the page that compares evaluations',
    access: 'browser',
    query: querySchema,
    async handle({ queryValues, caller }) {
      const { a, b, offset, limit, kind, grades } = queryValues;
      const account = accountOf(caller);
      const planA = toPlan(await findEvaluation(database.kysely, account, a, 'a'));
      const planB = toPlan(await findEvaluation(database.kysely, account, b, 'b'));
      const sideA = toSide((await cache.get(planA, grades)).cells, queryValues.a_model, 'a_model');
      const sideB = toSide((await cache.get(planB, grades)).cells, queryValues.b_model, 'b_model');
      const common =
        a === b ? sideA.cells.taskIds.map((_, index) => [index, index] as const) : await readCommon(database, planA, b);
      const found = toPairs(sideA, sideB, common).filter(({ difference }) => kindOf(difference) === kind);
      // Those that differ most first; the order of ids decides among equal ones.
      found.sort((one, other) => Math.abs(other.difference) - Math.abs(one.difference) || one.a - other.a);
      const shown = found.slice(offset, offset + limit);
      const drawnA = await readDrawnAttempts(database, a, {
        tasks: shown.map((pair) => pair.a),
        attempts: sideA.cells.attempts,
        grades,
      });
      const drawnB = await readDrawnAttempts(database, b, {
        tasks: shown.map((pair) => pair.b),
        attempts: sideB.cells.attempts,
        grades,
      });
      const body: ComparedTasks = {
        pass_threshold: sideB.cells.passThreshold,
        matched: found.length,
        offset,
        rows: shown.map((pair) => ({
          id: sideA.cells.taskIds[pair.a] ?? '',
          difference: pair.difference,
          a: toGroup(sideA.cells, pair.a, sideA.model, (attempt) => drawnA(pair.a, sideA.model, attempt)),
          b: toGroup(sideB.cells, pair.b, sideB.model, (attempt) => drawnB(pair.b, sideB.model, attempt)),
        })),
      };
      return { body };
    },
  });
}

/** @throws ApiError invalid_parameter for a model that the evaluation does not have. */
function toSide(cells: TaskCells, name: string, param: string): Side {
  const model = cells.models.indexOf(name);
  if (model !== -1) return { cells, model };
  const had = cells.models.slice(0, 5).join(', ');
  throw new ApiError('invalid_parameter', `${param} is ${JSON.stringify(name)}; the evaluation has ${had}.`, { param });
}

/** Indexes of the tasks that both have, with equal environment, scenario and arguments. */
async function readCommon({ scans }: Database, a: EvaluationPlan, b: string): Promise<(readonly [number, number])[]> {
  const common: (readonly [number, number])[] = [];
  for await (const matches of matchTasks(scans, a, b)) {
    for (const { taskIndex, otherIndex, isSame } of matches) {
      if (isSame && otherIndex !== null) common.push([taskIndex, otherIndex]);
    }
  }
  return common;
}

/** Tasks of which both have a mean. */
function toPairs(a: Side, b: Side, common: readonly (readonly [number, number])[]): Pair[] {
  return common.flatMap(([taskA, taskB]) => {
    const [meanA, meanB] = [meanOf(a.cells, taskA, a.model), meanOf(b.cells, taskB, b.model)];
    return meanA === null || meanB === null ? [] : [{ a: taskA, b: taskB, difference: meanB - meanA }];
  });
}

function kindOf(difference: number): ComparedKind {
  if (difference === 0) return 'tied';
  return difference > 0 ? 'won' : 'lost';
}
