import { expect } from 'vitest';

/** Two models on ten tasks. */
export const A: readonly number[] = [1, 1, 0, 1, 0, 1, 1, 1, 0, 1];
export const B: readonly number[] = [1, 0, 0, 1, 0, 0, 1, 1, 0, 0];
export const CLUSTERS: readonly string[] = [...'aaabbbccdd'];

/** Rewards below 0 and above 1; the expected figures of these are from exact fractions. */
export const X: readonly number[] = [0.25, -1.5, 3.75, 0.125, 2, -0.5, 0.8, 0.8];
export const Y: readonly number[] = [0.5, -1.25, 2.5, 1, 2, 0.75, 0.9, -3];
export const X_CLUSTERS: readonly string[] = [...'ppqrrrss'];

/** Six digits behind the point, as the contract asks for. */
export function expectClose(seen: number | readonly number[] | null, expected: number | readonly number[]): void {
  const [left, right] = [seen ?? [], expected].map((value) => (typeof value === 'number' ? [value] : value));
  expect(left?.length).toBe(right?.length);
  for (const [index, value] of (left ?? []).entries()) {
    expect(Math.abs(value - (right?.[index] ?? Number.NaN)), `${value} beside ${right?.[index]}`).toBeLessThan(1e-6);
  }
}
