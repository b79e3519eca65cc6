import { meanInterval } from './mean-interval.ts';
import { studentTTails } from './student-t.ts';
import { isRounding } from './sum.ts';

export interface PairedDifference {
  /** Pairs. */
  readonly n: number;
  readonly clusters: number;
  /** Mean of b − a; null for no pairs. */
  readonly difference: number | null;
  /** Standard error of the difference; null for fewer than two clusters. */
  readonly stderr: number | null;
  /** 95 % interval by Student's t with clusters − 1 degrees of freedom; null as `stderr`. */
  readonly ci95: readonly [low: number, high: number] | null;
  /**
   * How probable a difference as large as this is where there is none, by the same distribution; null as `stderr`. Of
   * pairs that all differ by the same it is 0, or 1 where that is nothing.
   */
  readonly pValue: number | null;
}

/**
 * How much larger the values of `b` are than those of `a` of the same index.
 *
 * @param clusters the cluster of each pair. Default: each pair is a cluster.
 * @throws RangeError where `a` and `b` have different lengths.
 */
export function pairedDifference(
  a: ArrayLike<number>,
  b: ArrayLike<number>,
  clusters?: ArrayLike<string | number>,
): PairedDifference {
  if (a.length !== b.length) throw new RangeError(`${a.length} values cannot be paired with ${b.length}`);
  const differences = Float64Array.from(a, (value, index) => differenceOf(value, b[index] ?? value));
  const { mean, ...figures } = meanInterval(differences, clusters);
  return { ...figures, difference: mean, pValue: pValueOf(mean, figures.stderr, figures.clusters) };
}

/** b − a, and 0 where rounding alone is left: 0.1 + 0.2 is 0.3. */
export function differenceOf(a: number, b: number): number {
  return isRounding(b - a, Math.max(Math.abs(a), Math.abs(b))) ? 0 : b - a;
}

function pValueOf(difference: number | null, stderr: number | null, clusters: number): number | null {
  if (difference === null || stderr === null) return null;
  if (stderr === 0) return difference === 0 ? 1 : 0;
  return studentTTails(difference / stderr, clusters - 1);
}
