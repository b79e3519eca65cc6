import { studentTQuantile } from './student-t.ts';
import { isRounding, sumOf } from './sum.ts';

export interface MeanInterval {
  readonly n: number;
  /** Number of groups of values that depend on each other; `n` if all values are independent. */
  readonly clusters: number;
  /** Null for no values. */
  readonly mean: number | null;
  /** Standard error of the mean; null for fewer than two clusters. */
  readonly stderr: number | null;
  /** 95 % interval of the mean by Student's t with clusters − 1 degrees of freedom, not cut to any range; null as `stderr`. */
  readonly ci95: readonly [low: number, high: number] | null;
}

const UPPER_95 = 0.975;

/**
 * The mean of values and how far it may be from the mean of all that could have been drawn. Values of one cluster, such as
 * tasks about one document, may depend on each other; clusters do not.
 *
 * @param clusters the cluster of each value. Default: each value is a cluster.
 */
export function meanInterval(values: ArrayLike<number>, clusters?: ArrayLike<string | number>): MeanInterval {
  const n = values.length;
  if (n === 0) return { n, clusters: 0, mean: null, stderr: null, ci95: null };
  const mean = meanOf(values);
  const residuals = residualsOf(values, mean, clusters);
  const count = residuals.length;
  if (count < 2) return { n, clusters: count, mean, stderr: null, ci95: null };
  const stderr = (Math.sqrt(count / (count - 1)) / n) * lengthOf(residuals);
  const half = stderr === 0 ? 0 : studentTQuantile(UPPER_95, count - 1) * stderr;
  // Values near the largest number there is have no interval.
  if (!Number.isFinite(half + Math.abs(mean))) return { n, clusters: count, mean, stderr: null, ci95: null };
  return { n, clusters: count, mean, stderr, ci95: [mean - half, mean + half] };
}

function meanOf(values: ArrayLike<number>): number {
  const first = values[0] ?? 0;
  let isConstant = true;
  let magnitude = 0;
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? 0;
    if (value !== first) isConstant = false;
    magnitude += Math.abs(value);
  }
  if (isConstant) return first;
  const sum = sumOf(values);
  if (isRounding(sum, magnitude)) return 0;
  return Number.isFinite(magnitude) ? sum / values.length : sumOf(values, values.length);
}

/** How far the values of each cluster are from the mean together. Equal values have no spread, whatever rounding says. */
function residualsOf(
  values: ArrayLike<number>,
  mean: number,
  clusters: ArrayLike<string | number> | undefined,
): Float64Array {
  const ordinals = new Map<string | number, number>();
  const sums = new Float64Array(values.length);
  const magnitudes = new Float64Array(values.length);
  for (let index = 0; index < values.length; index++) {
    const cluster = clusters?.[index] ?? index;
    const known = clusters === undefined ? index : ordinals.get(cluster);
    const ordinal = known ?? ordinals.size;
    if (known === undefined) ordinals.set(cluster, ordinal);
    const value = values[index] ?? 0;
    sums[ordinal] = (sums[ordinal] ?? 0) + (value - mean);
    magnitudes[ordinal] = (magnitudes[ordinal] ?? 0) + Math.abs(value) + Math.abs(mean);
  }
  const count = clusters === undefined ? values.length : ordinals.size;
  return sums.subarray(0, count).map((sum, ordinal) => (isRounding(sum, magnitudes[ordinal] ?? 0) ? 0 : sum));
}

/** The root of the sum of squares. Scaling avoids overflow and underflow. */
function lengthOf(values: Float64Array): number {
  const largest = values.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
  if (largest === 0 || !Number.isFinite(largest)) return largest;
  return largest * Math.sqrt(sumOf(values.map((value) => (value / largest) ** 2)));
}
