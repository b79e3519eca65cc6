import { describe, expect, it } from 'vitest';
import { agreementOf } from '../../../src/evaluation/statistics/agreement.ts';

const cases = (bothYes: number, labelYesOnly: number, scoreYesOnly: number, bothNo: number) => [
  ...Array.from({ length: bothYes }, () => ({ label: 1, score: 1 })),
  ...Array.from({ length: labelYesOnly }, () => ({ label: 1, score: 0 })),
  ...Array.from({ length: scoreYesOnly }, () => ({ label: 0, score: 1 })),
  ...Array.from({ length: bothNo }, () => ({ label: 0, score: 0 })),
];

describe('agreementOf', () => {
  it("gives Cohen's kappa of yes and no with its interval", () => {
    // po = 35/50, pe = 0.6 * 0.5 + 0.4 * 0.5 = 0.5.
    const { agreement, kappa, kappaCi95, confusion } = agreementOf(cases(20, 10, 5, 15), false);
    expect(agreement).toBeCloseTo(0.7, 12);
    expect(kappa).toBeCloseTo(0.4, 12);
    const half = 1.96 * Math.sqrt((0.7 * 0.3) / (50 * 0.25));
    expect(kappaCi95?.[0]).toBeCloseTo(0.4 - half, 12);
    expect(kappaCi95?.[1]).toBeCloseTo(0.4 + half, 12);
    expect(confusion).toEqual({ bothYes: 20, bothNo: 15, labelYesOnly: 10, scoreYesOnly: 5 });
  });

  it('has no kappa where chance alone agrees always', () => {
    expect(agreementOf(cases(5, 0, 0, 0), false)).toMatchObject({ agreement: 1, kappa: null, kappaCi95: null });
  });

  it('weighs numbers by the square of their distance', () => {
    const rated = [
      { label: 0, score: 0 },
      { label: 0.5, score: 0.5 },
      { label: 1, score: 0.5 },
      { label: 1, score: 1 },
    ];
    // Observed distance: 0.25 / 4. Expected: mean of the squared distances of all 16 pairs, 3 / 16.
    const mean = (0 + 0.25 + 0.25 + 1 + 0.25 + 0 + 0 + 0.25 + 2 * (1 + 0.25 + 0.25 + 0)) / 16;
    expect(agreementOf(rated, true).kappa).toBeCloseTo(1 - 0.25 / 4 / mean, 12);
  });

  it('refuses no cases', () => {
    expect(() => agreementOf([], false)).toThrow(RangeError);
  });
});
