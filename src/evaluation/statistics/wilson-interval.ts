/** The quantile of the normal distribution that leaves 2.5 % above. */
const Z_95 = 1.959963984540054;

/**
 * Wilson's 95 % interval of a rate, from independent attempts of which some succeeded. It lies between 0 and 1, and is of
 * use where all or none succeeded too.
 *
 * @throws RangeError where there is no attempt, or more successes than attempts.
 */
export function wilsonInterval(successes: number, attempts: number): readonly [low: number, high: number] {
  if (!(attempts > 0 && successes >= 0 && successes <= attempts)) {
    throw new RangeError(`${successes} of ${attempts} is no rate`);
  }
  const rate = successes / attempts;
  const square = Z_95 ** 2 / attempts;
  const centre = (rate + square / 2) / (1 + square);
  const half = Math.sqrt(square * (rate * (1 - rate) + square / 4)) / (1 + square);
  // Rounding would leave it beside 1; the other end is 0 where it should be.
  return [centre - half, successes === attempts ? 1 : centre + half];
}
