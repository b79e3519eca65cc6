import type { Comparison } from '../../../contract/service/evaluation.ts';
import { mcnemarTest } from '../../statistics/mcnemar.ts';
import { meanInterval } from '../../statistics/mean-interval.ts';
import { differenceOf, pairedDifference } from '../../statistics/paired-difference.ts';
import { smallestDifference } from '../../statistics/smallest-difference.ts';

/** Tasks with valid attempts of two models. The lists have one entry for each task. */
export interface TaskPairs {
  /** Means of the valid attempts of each model. */
  readonly a: ArrayLike<number>;
  readonly b: ArrayLike<number>;
  /** Equal numbers for tasks of one cluster. */
  readonly clusters: ArrayLike<number>;
  /** True if every mean is of a single attempt. */
  readonly isOneAttemptEach: boolean;
}

type Figures = Pick<
  Comparison,
  | 'n_tasks'
  | 'a_mean'
  | 'b_mean'
  | 'difference'
  | 'stderr'
  | 'ci95'
  | 'p_value'
  | 'test'
  | 'smallest_detectable_difference'
>;

/** How much better b is than a, and whether that may be chance (contract section 7, "Compare" and "Means"). */
export function compareTasks({ a, b, clusters, isOneAttemptEach }: TaskPairs): Figures {
  const paired = pairedDifference(a, b, clusters);
  const isBinary = isOneAttemptEach && paired.clusters === paired.n && [a, b].every(isZeroOrOne);
  // An interval and a p value need two clusters, whatever the test.
  const pValue = isBinary && paired.stderr !== null ? mcnemarTest(countLower(a, b), countLower(b, a)) : paired.pValue;
  return {
    n_tasks: paired.n,
    a_mean: meanInterval(a).mean,
    b_mean: meanInterval(b).mean,
    difference: paired.difference,
    stderr: paired.stderr,
    ci95: paired.ci95 && [...paired.ci95],
    p_value: pValue,
    test: isBinary ? 'mcnemar' : 'paired_t',
    smallest_detectable_difference: paired.stderr === null ? null : smallestDifference(paired.stderr),
  };
}

function isZeroOrOne(values: ArrayLike<number>): boolean {
  return Array.from(values).every((value) => value === 0 || value === 1);
}

/** Number of pairs with a lower first value. */
function countLower(values: ArrayLike<number>, others: ArrayLike<number>): number {
  return Array.from(values).filter((value, index) => differenceOf(value, others[index] ?? value) > 0).length;
}
