import { describe, expect, it } from 'vitest';
import { compareTasks } from '../../../src/evaluation/evaluations/report/compare-tasks.ts';
import { pairedDifference } from '../../../src/evaluation/statistics/paired-difference.ts';
import { createSeededRandom } from '../../../src/models/gateway/reference/seeded-random.ts';

const COMPARISONS = 1_000;
const TASKS = 40;
const ATTEMPTS = 5;

/**
 * Two models that are equally good, on tasks that each of them finds easy or hard in its own way: there is no difference to
 * be found. Attempts of one task are alike.
 */
function drawComparison(seed: number) {
  const random = createSeededRandom(seed);
  const drawTask = () => {
    const chance = random.next();
    return Array.from({ length: ATTEMPTS }, (): number => (random.chance(chance) ? 1 : 0));
  };
  return { a: Array.from({ length: TASKS }, drawTask), b: Array.from({ length: TASKS }, drawTask) };
}

function shareBelow5Percent(pValueOf: (drawn: ReturnType<typeof drawComparison>) => number | null): number {
  const pValues = Array.from({ length: COMPARISONS }, (_, seed) => pValueOf(drawComparison(seed + 1)) ?? 1);
  return pValues.filter((pValue) => pValue < 0.05).length / COMPARISONS;
}

function mean(attempts: readonly number[]): number {
  return attempts.reduce((sum, each) => sum + each, 0) / attempts.length;
}

describe('1,000 comparisons of models that do not differ, with five attempts a task', () => {
  it('find a difference at the 5 % level in 3 to 8 % of cases', () => {
    const clusters = Array.from({ length: TASKS }, (_, index) => index);
    const share = shareBelow5Percent(
      ({ a, b }) => compareTasks({ a: a.map(mean), b: b.map(mean), clusters, isOneAttemptEach: false }).p_value,
    );
    expect(share).toBeGreaterThanOrEqual(0.03);
    expect(share).toBeLessThanOrEqual(0.08);
  });

  it('find one in 3 to 8 % where ten clusters of four tasks each are alike', () => {
    const clusters = Array.from({ length: TASKS }, (_, index) => Math.floor(index / 4));
    const inClusters = (rows: readonly (readonly number[])[]) => clusters.map((cluster) => mean(rows[cluster] ?? []));
    const share = shareBelow5Percent(
      ({ a, b }) => compareTasks({ a: inClusters(a), b: inClusters(b), clusters, isOneAttemptEach: false }).p_value,
    );
    expect(share).toBeGreaterThanOrEqual(0.03);
    expect(share).toBeLessThanOrEqual(0.08);
  });

  it('find one in more than 15 % where every attempt counts as if it stood alone', () => {
    const share = shareBelow5Percent(({ a, b }) => pairedDifference(a.flat(), b.flat()).pValue);
    expect(share).toBeGreaterThan(0.15);
  });
});
