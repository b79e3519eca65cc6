import { describe, expect, it } from 'vitest';
import { meanInterval } from '../../../src/evaluation/statistics/mean-interval.ts';
import { rateInterval } from '../../../src/evaluation/statistics/rate-interval.ts';

function intervalOf(values: readonly number[], isIndependent: boolean) {
  return rateInterval(values, { ci95: meanInterval(values).ci95, isIndependent });
}

describe('the interval of a mean of values from 0 to 1', () => {
  it("is Wilson's where independent values are all 0 or 1, which lies in that range", () => {
    expect(intervalOf([0, 0, 0, 1], true)).toEqual([expect.closeTo(0.045587, 6), expect.closeTo(0.699358, 6)]);
    expect(intervalOf([1, 1], true)).toEqual([expect.closeTo(0.34238, 5), 1]);
  });

  it("is Student's where that stays in the range, and none where it leaves it", () => {
    expect(intervalOf([0.5, 0.52, 0.54], true)).toEqual(meanInterval([0.5, 0.52, 0.54]).ci95);
    expect(intervalOf([0, 0, 1], false)).toBeNull();
    expect(intervalOf([0.25, 1], true)).toBeNull();
    expect(intervalOf([0.5], true)).toBeNull();
  });

  it("is Student's for values that are no share", () => {
    expect(intervalOf([-1, 3, 5], true)).toEqual(meanInterval([-1, 3, 5]).ci95);
  });
});
