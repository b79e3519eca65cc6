/** Quantiles of the normal distribution: of a test at the 5 % level, two-sided, and of power 0.8. */
const LEVEL_Z = 1.959964;
const POWER_Z = 0.841621;

/** The smallest difference that a test at the 5 % level would find in 80 % of cases, from its standard error. */
export function smallestDifference(stderr: number): number {
  return (LEVEL_Z + POWER_Z) * stderr;
}

/** The same of one mean against another, independent one with the same standard error. */
export function smallestDifferenceOfMeans(stderr: number): number {
  return smallestDifference(stderr * Math.SQRT2);
}
