/**
 * P values of several tests, corrected by Holm's method: where nothing is there to be found, one below 0.05 comes up in at
 * most 5 % of cases, however many tests were made. In the order of the given ones.
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
