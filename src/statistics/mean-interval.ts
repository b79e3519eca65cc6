import { studentTQuantile } from './student-t.ts';

export interface MeanInterval {
  readonly n: number;
  /** Null for no values. */
  readonly mean: number | null;
  /** Standard error of the mean; null for fewer than two values. */
  readonly stderr: number | null;
  /** 95 % interval of the mean by Student's t with n − 1 degrees of freedom, not cut to any range; null as `stderr`. */
  readonly ci95: readonly [low: number, high: number] | null;
}

const UPPER_95 = 0.975;

/** The mean of independent values and how far it may be from the mean of all that could have been drawn. */
export function meanInterval(values: readonly number[]): MeanInterval {
  const n = values.length;
  if (n === 0) return { n, mean: null, stderr: null, ci95: null };
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  if (n === 1) return { n, mean, stderr: null, ci95: null };
  // Equal values have no spread, whatever the rounding of their mean says.
  const isConstant = values.every((value) => value === values[0]);
  if (isConstant) return constantInterval(n, values[0] ?? mean);
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1);
  const stderr = Math.sqrt(variance / n);
  const half = studentTQuantile(UPPER_95, n - 1) * stderr;
  return { n, mean, stderr, ci95: [mean - half, mean + half] };
}

function constantInterval(n: number, mean: number): MeanInterval {
  return { n, mean, stderr: 0, ci95: [mean, mean] };
}
