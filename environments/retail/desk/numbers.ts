/**
 * The multiple of 0.01 nearest to the exact binary value of `value`; in an exact tie the one with an even last digit.
 *
 * `toFixed` works on the exact value too, but takes the larger in a tie. Only an odd number of eighths is a tie, and of
 * its four fractions (.125, .375, .625, .875) `toFixed` sends two the wrong way: to .13 and .63.
 */
export function round2(value: number): number {
  if (value === 0) return value; // toFixed drops the sign of zero
  const text = value.toFixed(2);
  const isTie = Math.abs(value * 8) % 2 === 1;
  return Number(isTie ? text.replace(/\.13$/, '.12').replace(/\.63$/, '.62') : text);
}

/**
 * The shortest decimal form that reads back as the same double, always with a decimal point (`4.0`, `-0.0`) below 1e16,
 * and in exponent form from there on (`1e+16`). Meant for numbers that `round2` gave, or whole ones.
 */
export function toDecimalText(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  if (Math.abs(value) >= 1e16) return value.toExponential();
  const text = String(value);
  return text.includes('.') ? text : `${text}.0`;
}
