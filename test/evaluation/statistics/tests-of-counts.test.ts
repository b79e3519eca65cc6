import { describe, expect, it } from 'vitest';
import { holmCorrection } from '../../../src/evaluation/statistics/holm.ts';
import { mcnemarTest } from '../../../src/evaluation/statistics/mcnemar.ts';
import { wilsonInterval } from '../../../src/evaluation/statistics/wilson-interval.ts';
import { expectClose } from './vectors.ts';

describe('the exact test of McNemar', () => {
  it.each([
    [3, 0, 0.25],
    [8, 1, 0.0390625],
    [10, 3, 0.09228515625],
    [0, 0, 1],
    [5, 5, 1],
    [1, 0, 1],
    [600, 500, 0.0028195449914364275],
    [2_000, 1_800, 0.0012427867782631994],
    [50_500, 49_500, 0.0015823598788515956],
  ])('of %d won and %d lost is that of the binomial distribution', (won, lost, expected) => {
    expect(Math.abs(mcnemarTest(won, lost) / expected - 1)).toBeLessThan(1e-9);
    expect(mcnemarTest(lost, won)).toBe(mcnemarTest(won, lost));
  });

  it('is 0 where the probability is below the smallest number', () => {
    expect(mcnemarTest(1_200, 0)).toBe(0);
  });

  it.each([-1, 0.5, Number.NaN])('refuses %d pairs', (count) => {
    expect(() => mcnemarTest(count, 1)).toThrow(RangeError);
    expect(() => mcnemarTest(1, count)).toThrow(RangeError);
  });
});

describe('the interval of Wilson', () => {
  it.each([
    [7, 10, [0.396778, 0.892209]],
    [0, 10, [0, 0.277533]],
    [10, 10, [0.722467, 1]],
    [1, 1, [0.20654931437723745, 1]],
    [499, 1_000, [0.468073488750724, 0.529934164766247]],
    [1, 100_000, [1.765247730378316e-6, 5.664709659040965e-5]],
  ])('of %d in %d is that of the reference, and ends at 0 and 1', (successes, attempts, expected) => {
    const [low, high] = wilsonInterval(successes, attempts);
    expectClose([low, high], expected);
    expect([low === 0, high === 1]).toEqual([successes === 0, successes === attempts]);
  });

  it('never leaves 0 to 1, whatever rounding does', () => {
    for (let attempts = 1; attempts <= 300; attempts++) {
      expect(wilsonInterval(0, attempts)[0]).toBe(0);
      expect(wilsonInterval(attempts, attempts)[1]).toBe(1);
    }
  });

  it.each([
    [0, 0],
    [3, 2],
    [-1, 2],
    [Number.NaN, 2],
  ])('of %d in %d is refused', (successes, attempts) => {
    expect(() => wilsonInterval(successes, attempts)).toThrow(RangeError);
  });
});

describe('the correction of Holm', () => {
  it('multiplies each p value by the number of those that are not smaller, and never lets them change places', () => {
    expectClose(holmCorrection([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02]);
    expectClose(holmCorrection([0.02, 0.019, 0.5]), [0.057, 0.057, 0.5]);
  });

  it('is at most 1, leaves a single one as it is, and takes none', () => {
    expect(holmCorrection([0.9, 0.8, 1])).toEqual([1, 1, 1]);
    expect(holmCorrection([0.04])).toEqual([0.04]);
    expect(holmCorrection([])).toEqual([]);
  });
});
