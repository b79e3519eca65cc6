import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Comparison, ComparisonList } from '../../../contract/service/evaluation.ts';
import type { GradesQuery } from '../../../contract/service/replay.ts';
import type { Database } from '../../../store/database/database.ts';
import { holmCorrection } from '../../statistics/holm.ts';
import { type EvaluationPlan, readPlan } from '../evaluation-plan.ts';
import { type ComparedModel, ComparisonBuilder } from './comparison-builder.ts';
import { comparisonWarnings } from './comparison-warnings.ts';
import { ModelCells } from './model-cells.ts';
import { pairModels } from './pair-models.ts';
import { countChangedCode, matchTasks } from './pair-tasks.ts';
import { readClusters, readModelCells } from './read-reports.ts';

export interface ComparisonQuery {
  readonly a: string;
  readonly b: string;
  readonly aModel?: string | undefined;
  readonly bModel?: string | undefined;
  readonly grades?: GradesQuery | undefined;
}

/**
 * Compares models on the tasks that both evaluations have: those of equal names, one with one otherwise, or the two that
 * are named. A task is compared where both models have a valid attempt of it.
 *
 * @throws ApiError evaluation_not_found with `param` a or b; invalid_parameter with `param` a_model or b_model for a model
 *   that is not there, and where none is named and no two belong together.
 */
export async function compareEvaluations(database: Database, query: ComparisonQuery): Promise<ComparisonList> {
  const sides = await readPlans(database, query);
  const pairs = pairModels(sides.a.models, sides.b.models, query);
  const { grades } = query;
  const a = await readModelCells(database.scans, sides.a, { grades });
  const b = query.a === query.b ? a : await readModelCells(database.scans, sides.b, { grades });
  const clusters = await readClusters(database.scans, sides.a);
  const builders = pairs.map(
    (pair) =>
      new ComparisonBuilder({
        a: sideOf(sides.a, a, pair.a),
        b: sideOf(sides.b, b, pair.b),
        clusters,
      }),
  );
  let otherClusters = 0;
  for await (const matches of matchTasks(database.scans, sides.a, query.b)) {
    for (const builder of builders) builder.addTasksOfA(matches);
    otherClusters += matches.filter(({ isSame, isSameCluster }) => isSame && !isSameCluster).length;
  }
  for await (const matches of matchTasks(database.scans, sides.b, query.a)) {
    for (const builder of builders) builder.addTasksOfB(matches);
  }
  const changedCode = await countChangedCode(database.scans, query.a, query.b);
  await readPlans(database, query); // Rows that were deleted meanwhile would be tasks without a reward.
  const comparisons: Comparison[] = [];
  for (const builder of builders) {
    await nextTurn(); // With many tasks each takes some milliseconds.
    comparisons.push(builder.toComparison());
  }
  return {
    object: 'comparison',
    a: query.a,
    b: query.b,
    comparisons: withHolm(comparisons),
    warnings: comparisonWarnings({ ...sides, compared: builders, changedCode, otherClusters }),
  };
}

async function readPlans({ kysely }: Database, query: ComparisonQuery): Promise<Record<'a' | 'b', EvaluationPlan>> {
  const a = await readPlan(kysely, query.a, { param: 'a' });
  return { a, b: query.a === query.b ? a : await readPlan(kysely, query.b, { param: 'b' }) };
}

function sideOf({ models }: EvaluationPlan, cells: readonly ModelCells[], index: number): ComparedModel {
  return { model: models[index] ?? '', cells: cells[index] ?? new ModelCells(0) };
}

/** Corrects the p values for multiple comparisons. A comparison without a p value does not count. */
function withHolm(comparisons: readonly Comparison[]): Comparison[] {
  const tested = comparisons.map(({ p_value }) => p_value).filter((pValue) => pValue !== null);
  const corrected = holmCorrection(tested).values();
  return comparisons.map((each) => ({
    ...each,
    p_holm: each.p_value === null ? null : (corrected.next().value ?? null),
  }));
}
