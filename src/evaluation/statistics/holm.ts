/**
 * Corrects the p values of several tests by Holm's method: without a real effect, a value below 0.05 appears in at most
 * 5 % of cases, for any number of tests. The order stays the same.
 */
export function holmCorrection(pValues: readonly number[]): number[] {
  const ascending = pValues.map((pValue, index) => ({ pValue, index })).sort((a, b) => a.pValue - b.pValue);
  const corrected = [...pValues];
  let largest = 0;
  for (const [rank, { pValue, index }] of ascending.entries()) {
    largest = Math.max(largest, Math.min(1, pValue * (pValues.length - rank)));
    corrected[index] = largest;
  }
  return corrected;
}
