import { describe, expect, it } from 'vitest';
import { studentTQuantile, studentTTails } from '../../../src/evaluation/statistics/student-t.ts';

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

describe('the p value of a t', () => {
  it.each([
    [1.9639610121239315, 9, 0.08112618884584064],
    [0.5, 1, 0.7048327646991335],
    [2.5, 3, 0.08770664700806555],
    [4.2, 29, 0.00023184683639014816],
    [12, 99, 5.1306296878974854e-21],
    [1.2, 0.5, 0.5592579261313646],
    [30, 2, 0.0011092626819596588],
    [40, 50, 1.2412423784372706e-39],
    [1.96, 999_999, 0.04999606758554708],
  ])('of %d with %d degrees of freedom is the share of both tails', (t, degrees, expected) => {
    expect(Math.abs(studentTTails(t, degrees) / expected - 1)).toBeLessThan(1e-8);
    expect(studentTTails(-t, degrees)).toBe(studentTTails(t, degrees));
  });

  it('is 1 at 0, and 0 at the end of numbers', () => {
    expect(studentTTails(0, 5)).toBe(1);
    expect(studentTTails(Number.POSITIVE_INFINITY, 5)).toBe(0);
    expect(studentTTails(-1e200, 1)).toBe(0);
  });

  it.each([1, 2, 3.5, 9, 29, 400, 25_000])('is the other way round than the quantile with %d degrees', (degrees) => {
    for (const probability of [0.6, 0.9, 0.975, 0.9999]) {
      const tails = studentTTails(studentTQuantile(probability, degrees), degrees);
      expect(Math.abs(tails / (2 * (1 - probability)) - 1)).toBeLessThan(1e-8);
    }
  });

  it.each([
    [Number.NaN, 3],
    [1, 0],
    [1, Number.POSITIVE_INFINITY],
  ])('of %d with %d degrees of freedom is refused', (t, degrees) => {
    expect(() => studentTTails(t, degrees)).toThrow(RangeError);
  });
});
