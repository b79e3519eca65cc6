import { describe, expect, it } from 'vitest';
import { meanInterval } from '../../src/statistics/mean-interval.ts';
import { studentTQuantile } from '../../src/statistics/student-t.ts';

describe('the quantile of the t distribution', () => {
  it.each([
    [0.975, 1, 12.706204736432095],
    [0.975, 2, 4.302652729911275],
    [0.975, 3, 3.182446305284263],
    [0.975, 5, 2.5705818366147395],
    [0.975, 7, 2.3646242510102993],
    [0.975, 10, 2.2281388519649385],
    [0.975, 30, 2.0422724563012373],
    [0.975, 100, 1.9839715184496334],
    [0.975, 1_000, 1.9623390808264074],
    [0.95, 20, 1.7247182429207857],
  ])('of %d with %d degrees of freedom is that of the tables, to 1e-9', (probability, degrees, expected) => {
    expect(Math.abs(studentTQuantile(probability, degrees) - expected)).toBeLessThan(1e-9);
  });

  it('is that of the closed forms with 1, 2 and 4 degrees of freedom, far out too', () => {
    for (const p of [0.5, 0.50001, 0.6, 0.9, 0.975, 0.9995, 0.999999]) {
      const cosine = Math.cos(Math.acos(Math.sqrt(4 * p * (1 - p))) / 3) / Math.sqrt(4 * p * (1 - p));
      const expected = [
        [1, Math.tan(Math.PI * (p - 0.5))],
        [2, (2 * p - 1) / Math.sqrt(2 * p * (1 - p))],
        [4, 2 * Math.sqrt(Math.max(0, cosine - 1))],
      ] as const;
      for (const [degrees, t] of expected) {
        expect(Math.abs(studentTQuantile(p, degrees) - t), `${p} ${degrees}`).toBeLessThan(1e-6 * Math.max(1, t));
      }
    }
  });

  it('comes to the normal distribution with many degrees of freedom', () => {
    const normal = 1.959963984540054;
    const expansion = (degrees: number) => normal + (normal ** 3 + normal) / (4 * degrees);
    for (const degrees of [99_999, 999_999]) {
      expect(Math.abs(studentTQuantile(0.975, degrees) - expansion(degrees))).toBeLessThan(1e-8);
    }
  });

  it('is symmetric, and takes degrees that are not whole', () => {
    expect(studentTQuantile(0.025, 7)).toBe(-studentTQuantile(0.975, 7));
    const between = studentTQuantile(0.975, 7.5);
    expect(between).toBeLessThan(studentTQuantile(0.975, 7));
    expect(between).toBeGreaterThan(studentTQuantile(0.975, 8));
  });

  it.each([
    [0, 1],
    [1, 1],
    [Number.NaN, 1],
    [0.5, 0],
    [0.5, Number.NaN],
  ])('of %d with %d degrees of freedom is refused', (probability, degrees) => {
    expect(() => studentTQuantile(probability, degrees)).toThrow(RangeError);
  });
});

describe('a mean with its interval', () => {
  it('has the interval of n − 1 degrees of freedom, which is not cut to the range of the values', () => {
    const { n, mean, stderr, ci95 } = meanInterval([0, 1, 0, 1]);
    expect([n, mean]).toEqual([4, 0.5]);
    expect(stderr).toBeCloseTo(0.28867513459481287, 12);
    expect(ci95?.[0]).toBeCloseTo(-0.41869309, 7);
    expect(ci95?.[1]).toBeCloseTo(1.41869309, 7);
  });

  it('has no interval for fewer than two values, and no mean for none', () => {
    expect(meanInterval([])).toEqual({ n: 0, mean: null, stderr: null, ci95: null });
    expect(meanInterval([0.3])).toEqual({ n: 1, mean: 0.3, stderr: null, ci95: null });
  });

  it('has an interval of width 0 where all values are equal, whatever rounding does', () => {
    expect(meanInterval([0.1, 0.1, 0.1])).toEqual({ n: 3, mean: 0.1, stderr: 0, ci95: [0.1, 0.1] });
  });
});
