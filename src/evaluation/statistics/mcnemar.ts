/**
 * McNemar's exact test, two-sided: how probable it is that pairs which differ are split as unevenly as this, where either
 * side wins a pair as easily as the other.
 *
 * @param won pairs that one side won, `lost` those that the other did; ties do not count.
 * @throws RangeError for counts that are no whole numbers from 0.
 */
export function mcnemarTest(won: number, lost: number): number {
  for (const count of [won, lost]) {
    if (!Number.isSafeInteger(count) || count < 0) throw new RangeError(`${count} is no number of pairs`);
  }
  return Math.min(1, 2 * shareUpTo(Math.min(won, lost), won + lost));
}

/** The share of the throws of `n` coins that show at most `k` heads. */
function shareUpTo(k: number, n: number): number {
  // First that of exactly k: binomial(n, k) / 2^n. Divided as it grows, it never leaves the range of numbers.
  let exactly = 1;
  let halvings = n;
  for (let index = 1; index <= k; index++) {
    exactly *= (n - k + index) / index;
    for (; exactly > 1 && halvings > 0; halvings--) exactly /= 2;
  }
  exactly *= 2 ** -halvings;
  let share = 0;
  for (let heads = k; heads >= 0 && exactly > 0; heads--) {
    share += exactly;
    exactly *= heads / (n - heads + 1);
  }
  return share;
}
