import { describe, expect, it } from 'vitest';
import { passAtK, passHatK } from '../../../src/evaluation/statistics/pass-at-k.ts';

describe('pass@k and pass^k', () => {
  it.each([
    [5, 2, 1, 0.4, 0.4],
    [5, 2, 2, 0.7, 0.1],
    [5, 2, 3, 0.9, 0],
    [5, 2, 5, 1, 0],
    [8, 6, 4, 1, 0.2142857142857143],
    [4, 0, 2, 0, 0],
    [64, 40, 32, 1, 4.196424312103894e-11],
    [1_000, 3, 512, 0.8841518713101879, 0],
    [1_000, 997, 256, 1, 0.4114050563589642],
    [1_000, 500, 8, 0.996202412535107, 0.0037975874648929534],
    [1_000, 1, 1_000, 1, 0],
    [1_000, 1_000, 1_000, 1, 1],
  ])('of %d attempts, %d passed, k %d are those of the binomials', (n, passed, k, at, hat) => {
    expect(Math.abs((passAtK(n, passed, k) ?? 0) - at)).toBeLessThan(1e-12);
    expect(Math.abs((passHatK(n, passed, k) ?? 0) - hat)).toBeLessThan(1e-12 * Math.max(hat, 1e-9));
  });

  it('are what counting every draw gives', () => {
    for (let n = 1; n <= 7; n++) {
      for (let passed = 0; passed <= n; passed++) {
        for (let k = 1; k <= n; k++) {
          const draws = drawsOf(n, k).map((draw) => draw.map((index) => index < passed));
          const share = (isSo: (draw: readonly boolean[]) => boolean) => draws.filter(isSo).length / draws.length;
          expect(passAtK(n, passed, k)).toBeCloseTo(
            share((draw) => draw.includes(true)),
            12,
          );
          expect(passHatK(n, passed, k)).toBeCloseTo(
            share((draw) => !draw.includes(false)),
            12,
          );
        }
      }
    }
  });

  it('are 0, and no -0, where too few attempts passed or failed', () => {
    expect(passHatK(5, 2, 4)).toBe(0);
    expect(passHatK(5, 1, 3)).toBe(0);
    expect(passAtK(5, 0, 4)).toBe(0);
  });

  it('are not there for fewer attempts than k', () => {
    expect(passAtK(3, 3, 4)).toBeNull();
    expect(passHatK(3, 3, 4)).toBeNull();
    expect(passAtK(0, 0, 1)).toBeNull();
  });
});

/** All ways to draw `k` of the numbers below `n`. */
function drawsOf(n: number, k: number): number[][] {
  if (k === 0) return [[]];
  return Array.from({ length: n }, (_, last) => last).flatMap((last) =>
    drawsOf(last, k - 1).map((others) => [...others, last]),
  );
}
