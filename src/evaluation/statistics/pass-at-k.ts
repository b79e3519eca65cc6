/**
 * pass@k: how probable it is that one or more of `k` attempts pass, drawn from `n` attempts of which `passed` did. Null
 * where there are fewer than `k`.
 */
export function passAtK(n: number, passed: number, k: number): number | null {
  return n < k ? null : 1 - shareOfDraws(n, n - passed, k);
}

/** pass^k: how probable it is that all of `k` attempts pass, drawn as for pass@k. Null where there are fewer than `k`. */
export function passHatK(n: number, passed: number, k: number): number | null {
  return n < k ? null : shareOfDraws(n, passed, k);
}

/** The share of the draws of `k` out of `n` that are all among `some`: factor by factor, as the binomials would overflow. */
function shareOfDraws(n: number, some: number, k: number): number {
  if (some < k) return 0; // Not -0, as the product below would be.
  let share = 1;
  for (let index = 0; index < k; index++) share *= (some - index) / (n - index);
  return share;
}
