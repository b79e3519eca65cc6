import { sumOf } from './sum.ts';
import { wilsonInterval } from './wilson-interval.ts';

export type Interval = readonly [low: number, high: number] | null;

/**
 * The 95 % interval of the mean of values that lie between 0 and 1. Independent values that are all 0 or 1 have Wilson's.
 * Student's is left out where it leaves that range: the values are too few for it, and an end below 0 says nothing.
 *
 * @param ci95 by Student's t. It is used if a value lies outside of the range.
 */
export function rateInterval(
  values: ArrayLike<number>,
  { ci95, isIndependent }: { readonly ci95: Interval; readonly isIndependent: boolean },
): Interval {
  if (ci95 === null) return null;
  let [isBinary, isInRange] = [true, true];
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? 0;
    if (value !== 0 && value !== 1) isBinary = false;
    if (value < 0 || value > 1) isInRange = false;
  }
  if (isBinary && isIndependent) return wilsonInterval(sumOf(values), values.length);
  return isInRange && (ci95[0] < 0 || ci95[1] > 1) ? null : ci95;
}
