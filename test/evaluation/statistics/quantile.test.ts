import { describe, expect, it } from 'vitest';
import { quantilePosition } from '../../../src/evaluation/statistics/quantile.ts';
import {
  smallestDifference,
  smallestDifferenceOfMeans,
} from '../../../src/evaluation/statistics/smallest-difference.ts';

describe('where a quantile lies', () => {
  it.each([
    [1, 50, { index: 0, fraction: 0 }],
    [1, 95, { index: 0, fraction: 0 }],
    [2, 50, { index: 0, fraction: 0.5 }],
    [3, 50, { index: 1, fraction: 0 }],
    [21, 95, { index: 19, fraction: 0 }],
    [20, 95, { index: 18, fraction: 0.05 }],
    [1_000_000, 95, { index: 949_999, fraction: 0.05 }],
    [0, 50, { index: 0, fraction: 0 }],
  ])('of %d values at %d %% is counted from 0, between two values where it has a fraction', (n, percent, expected) => {
    expect(quantilePosition(n, percent)).toEqual(expected);
  });
});

describe('the smallest detectable difference', () => {
  it('is that of level 5 % and power 0.8, and larger by the root of 2 between independent means', () => {
    expect(smallestDifference(0.1)).toBeCloseTo(0.2801585, 9);
    expect(smallestDifferenceOfMeans(0.1)).toBeCloseTo(0.2801585 * Math.sqrt(2), 9);
    expect(smallestDifference(0)).toBe(0);
  });
});
