import { describe, expect, it } from 'vitest';
import { differenceOf, pairedDifference } from '../../../src/evaluation/statistics/paired-difference.ts';
import { A, B, CLUSTERS, expectClose, X, X_CLUSTERS, Y } from './vectors.ts';

describe('a paired difference', () => {
  it.each([
    ['A − B', B, A, undefined, 0.3, 0.152753, [-0.04555, 0.64555], 0.081126],
    ['A − B in clusters', B, A, CLUSTERS, 0.3, 0.084853, [0.029960476413, 0.570039523587], 0.038486444853],
    [
      'rewards of any size',
      X,
      Y,
      undefined,
      -0.290625,
      0.56362858013,
      [-1.623394809466, 1.042144809466],
      0.62199236903,
    ],
    [
      'the same in clusters',
      X,
      Y,
      X_CLUSTERS,
      -0.290625,
      0.658238863706,
      [-2.385434839795, 1.804184839795],
      0.688722661373,
    ],
  ])('has the figures of the reference for %s', (_name, a, b, clusters, difference, stderr, ci95, pValue) => {
    const seen = pairedDifference(a, b, clusters);
    expectClose([seen.difference, seen.stderr, ...(seen.ci95 ?? []), seen.pValue] as number[], [
      difference,
      stderr,
      ...ci95,
      pValue,
    ]);
  });

  it('changes its sign with its sides', () => {
    const [forth, back] = [pairedDifference(X, Y, X_CLUSTERS), pairedDifference(Y, X, X_CLUSTERS)];
    expect(back.difference).toBe(-(forth.difference ?? 0));
    expect([back.stderr, back.pValue]).toEqual([forth.stderr, forth.pValue]);
  });

  it('is certain where all pairs differ by the same: p is 0, or 1 where that is nothing', () => {
    expect(pairedDifference([0, 0.5, 1], [0.25, 0.75, 1.25])).toMatchObject({ difference: 0.25, stderr: 0, pValue: 0 });
    expect(pairedDifference([0, 0.5], [0, 0.5])).toMatchObject({ difference: 0, stderr: 0, ci95: [0, 0], pValue: 1 });
    // 0.1 + 0.2 is not 0.3 to a machine.
    expect(pairedDifference([0.1 + 0.2, 0.3, 0.3], [0.3, 0.3, 0.1 + 0.2])).toMatchObject({ stderr: 0, pValue: 1 });
    expect(pairedDifference([0, 0, 0], [0.1, 0.2, -0.3], ['a', 'a', 'a']).difference).toBe(0);
  });

  it('has no interval and no p value for fewer than two clusters', () => {
    expect(pairedDifference([], [])).toMatchObject({ n: 0, difference: null, stderr: null, ci95: null, pValue: null });
    expect(pairedDifference([0], [1])).toMatchObject({ n: 1, difference: 1, stderr: null, ci95: null, pValue: null });
    expect(pairedDifference([0, 0], [1, 0], [7, 7])).toMatchObject({ difference: 0.5, clusters: 1, pValue: null });
  });

  it('needs as many values on both sides', () => {
    expect(() => pairedDifference([1], [])).toThrow('1 values cannot be paired with 0');
  });

  it('is 0 for values that rounding alone tells apart, near 0 too', () => {
    expect(differenceOf(0.3, 0.1 + 0.2)).toBe(0);
    expect(differenceOf(1e-9, 2e-9)).toBe(1e-9);
  });
});
