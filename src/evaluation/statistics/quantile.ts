/**
 * Between which two of `n` sorted values a quantile lies: at `index`, from 0, and `fraction` of the way to the next one.
 * The median of an even number lies between the two in the middle.
 *
 * @param percent 0 to 100, whole.
 */
export function quantilePosition(n: number, percent: number): { readonly index: number; readonly fraction: number } {
  const hundredths = Math.max(0, n - 1) * percent; // Whole numbers, so that nothing is rounded.
  return { index: Math.floor(hundredths / 100), fraction: (hundredths % 100) / 100 };
}
