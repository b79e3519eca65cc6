/** The share of the values added up that rounding may leave. */
const ROUNDING = 1e-12;

/** True if a sum or difference of values of this magnitude is 0 except for rounding. */
export function isRounding(value: number, magnitude: number): boolean {
  return Number.isFinite(magnitude) && Math.abs(value) <= ROUNDING * magnitude;
}

/** The sum of the values, each divided by `divisor` before, with the error of one rounding (Neumaier's method). */
export function sumOf(values: ArrayLike<number>, divisor = 1): number {
  let sum = 0;
  let lost = 0;
  for (let index = 0; index < values.length; index++) {
    const value = (values[index] ?? 0) / divisor;
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return Number.isFinite(sum) ? sum + lost : sum;
}
