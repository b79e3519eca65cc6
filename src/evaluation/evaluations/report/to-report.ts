import type { Report } from '../../../contract/service/evaluation.ts';
import type { OutcomeCounts } from '../../../contract/service/outcome.ts';
import { meanInterval } from '../../statistics/mean-interval.ts';
import { passAtK, passHatK } from '../../statistics/pass-at-k.ts';
import { quantilePosition } from '../../statistics/quantile.ts';
import { smallestDifferenceOfMeans } from '../../statistics/smallest-difference.ts';
import { sumOf } from '../../statistics/sum.ts';
import { wilsonInterval } from '../../statistics/wilson-interval.ts';
import { type EvaluationPlan, outcomeOfRest } from '../evaluation-plan.ts';
import type { ModelCells, ValuedTasks } from './model-cells.ts';
import { addTo } from './read-cells.ts';

/** Figures that are added up over the attempts of a model. */
export type ModelSums = Pick<Report, 'reruns' | 'tokens' | 'cost' | 'reruns_cost' | 'wall_ms'>;

export interface ReportInput {
  readonly plan: EvaluationPlan;
  readonly model: string;
  readonly cells: ModelCells;
  /** A number for each task, the same for tasks of one cluster. */
  readonly clusters: Int32Array;
  readonly sums: ModelSums;
}

/** Says what one model reached (contract section 7, "Report" and "Means"). */
export function toReport({ plan, model, cells, clusters, sums }: ReportInput): Report {
  const attempts = plan.tasks * plan.attempts;
  const valued = cells.valuedTasks(clusters);
  const { mean, stderr, ci95 } = meanInterval(valued.means, valued.clusters);
  return {
    model,
    n_tasks: plan.tasks,
    n_attempts: attempts,
    coverage: attempts === 0 ? 0 : sumOf(valued.valid) / attempts,
    mean,
    mean_missing_as_zero: sumOf(valued.means.map((each, index) => each * ((valued.valid[index] ?? 0) / attempts))),
    stderr,
    ci95: ci95 && [...ci95],
    pass_rate: toPassRate(valued),
    pass_at_k: toPassAt(passAtK, valued, plan),
    pass_hat_k: toPassAt(passHatK, valued, plan),
    outcomes: toOutcomes(plan, cells.outcomes, attempts),
    ...sums,
    steps: toSpread(cells.steps),
    duration_ms: toSpread(cells.durations),
    smallest_detectable_difference: stderr === null ? null : smallestDifferenceOfMeans(stderr),
  };
}

function toPassRate({ passRates, clusters, valid, passed }: ValuedTasks): Report['pass_rate'] {
  const { mean, ci95, clusters: count } = meanInterval(passRates, clusters);
  if (ci95 === null) return { value: mean, ci95 };
  const isOneEach = count === valid.length && valid.every((each) => each === 1);
  return { value: mean, ci95: isOneEach ? [...wilsonInterval(sumOf(passed), count)] : [...ci95] };
}

/** For k = 1, 2, 4, 8, ... up to the attempts of a task: over the tasks with as many valid attempts or more. */
function toPassAt(
  passAt: (n: number, passed: number, k: number) => number | null,
  { valid, passed }: ValuedTasks,
  plan: EvaluationPlan,
): Report['pass_at_k'] {
  const entries: [string, Report['pass_at_k'][string]][] = [];
  for (let k = 1; k <= plan.attempts; k *= 2) {
    let sum = 0;
    let tasks = 0;
    for (const [index, n] of valid.entries()) {
      const share = passAt(n, passed[index] ?? 0, k);
      if (share === null) continue;
      sum += share;
      tasks += 1;
    }
    entries.push([String(k), { value: tasks === 0 ? null : sum / tasks, tasks, left_out: plan.tasks - tasks }]);
  }
  return Object.fromEntries(entries);
}

/** With those that never began or were ended with their evaluation. */
function toOutcomes(plan: EvaluationPlan, done: OutcomeCounts, attempts: number): OutcomeCounts {
  const outcomes = { ...done };
  const rest = outcomeOfRest(plan);
  const count = Object.values(done).reduce((total, each) => total + each, 0);
  if (rest !== undefined) addTo(outcomes, rest, attempts - count);
  return outcomes;
}

function toSpread(values: readonly number[]): Report['steps'] {
  const sorted = Float64Array.from(values).sort();
  return { median: quantileOf(sorted, 50), p95: quantileOf(sorted, 95) };
}

function quantileOf(sorted: Float64Array, percent: number): number | null {
  const { index, fraction } = quantilePosition(sorted.length, percent);
  const low = sorted[index];
  if (low === undefined) return null;
  return low + ((sorted[index + 1] ?? low) - low) * fraction;
}
