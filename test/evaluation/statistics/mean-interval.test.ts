import { describe, expect, it } from 'vitest';
import { meanInterval } from '../../../src/evaluation/statistics/mean-interval.ts';
import { sumOf } from '../../../src/evaluation/statistics/sum.ts';
import { A, B, CLUSTERS, expectClose, X, X_CLUSTERS } from './vectors.ts';

describe('a mean with its interval', () => {
  it('has the interval of n − 1 degrees of freedom, which is not cut to the range of the values', () => {
    const { n, mean, stderr, ci95 } = meanInterval([0, 1, 0, 1]);
    expect([n, mean]).toEqual([4, 0.5]);
    expect(stderr).toBeCloseTo(0.28867513459481287, 12);
    expect(ci95?.[0]).toBeCloseTo(-0.41869309, 7);
    expect(ci95?.[1]).toBeCloseTo(1.41869309, 7);
  });

  it.each([
    ['A', A, undefined, 0.7, 0.152753, [0.354449785586, 1.045550214414]],
    ['A in clusters', A, CLUSTERS, 0.7, 0.084853, [0.429960476413, 0.970039523587]],
    ['B', B, undefined, 0.4, 0.163299, [0.030591282211, 0.769408717789]],
    ['B in clusters', B, CLUSTERS, 0.4, 0.169705627485, [-0.140079047175, 0.940079047175]],
    ['rewards of any size', X, undefined, 0.715625, 0.564162968397, [-0.618408436923, 2.049658436923]],
    ['rewards of any size in clusters', X, X_CLUSTERS, 0.715625, 0.589798045967, [-1.16137561225, 2.59262561225]],
  ])('has the figures of the reference for %s', (_name, values, clusters, mean, stderr, ci95) => {
    const seen = meanInterval(values, clusters);
    expectClose([seen.mean, seen.stderr, ...(seen.ci95 ?? [])] as number[], [mean, stderr, ...ci95]);
    expect([seen.n, seen.clusters]).toEqual([values.length, clusters === undefined ? values.length : 4]);
  });

  it('takes clusters by their names or numbers, wherever their members are', () => {
    const [plain, shuffled] = [
      [A, CLUSTERS] as const,
      [
        [1, 1, 0, 1, 0, 0, 1, 1, 1, 1],
        [3, 0, 3, 1, 0, 1, 2, 0, 1, 2],
      ] as const,
    ].map(([values, clusters]) => meanInterval(Float64Array.from(values), clusters));
    expect(shuffled).toEqual(plain);
  });

  it('has no interval for fewer than two clusters, and no mean for no values', () => {
    expect(meanInterval([])).toEqual({ n: 0, clusters: 0, mean: null, stderr: null, ci95: null });
    expect(meanInterval([0.3])).toEqual({ n: 1, clusters: 1, mean: 0.3, stderr: null, ci95: null });
    expect(meanInterval([0, 1], ['a', 'a'])).toEqual({ n: 2, clusters: 1, mean: 0.5, stderr: null, ci95: null });
  });

  it('has an interval of width 0 where clusters do not differ, whatever rounding does', () => {
    expect(meanInterval([0.1, 0.1, 0.1])).toEqual({ n: 3, clusters: 3, mean: 0.1, stderr: 0, ci95: [0.1, 0.1] });
    expect(meanInterval([0.1, 0.2, 0.2, 0.1], ['a', 'a', 'b', 'b'])).toMatchObject({ stderr: 0, clusters: 2 });
    // As the mean of three attempts and of one.
    expect(meanInterval([(0.1 + 0.1 + 0.1) / 3, 0.1, 0.1])).toMatchObject({ stderr: 0 });
    expect(meanInterval([0.1, 0.2, -0.3])).toMatchObject({ mean: 0 });
    expect(meanInterval(new Float64Array(1_000_000).fill(0.1))).toMatchObject({ mean: 0.1, stderr: 0 });
  });

  it('is right for values of any size, and has no interval where it would leave the numbers', () => {
    const small = meanInterval([0, 1e-200, 0, 1e-200]);
    expect((small.stderr ?? 0) / 1e-200).toBeCloseTo(0.28867513459481287, 12);
    const large = meanInterval([0, 1e200, 0, 1e200]);
    expect((large.stderr ?? 0) / 1e200).toBeCloseTo(0.28867513459481287, 12);
    const largest = meanInterval([1.7e308, 1.7e308, 1.6e308]);
    expect((largest.mean ?? 0) / 1e308).toBeCloseTo(5 / 3, 12);
    expect(largest).toMatchObject({ stderr: null, ci95: null });
  });
});

describe('a sum', () => {
  it('loses nothing to rounding that its result could show', () => {
    expect(sumOf([1e16, 1, -1e16])).toBe(1);
    expect(sumOf(Array.from({ length: 1_000_000 }, (_, index) => (index % 2 === 0 ? 0.1 : 0.3)))).toBe(200_000);
    expect(sumOf([1e308, 1e308], 2)).toBe(1e308);
    expect(sumOf([1e308, 1e308])).toBe(Number.POSITIVE_INFINITY);
    expect(sumOf([])).toBe(0);
  });
});
