/** Steps of the continued fraction: it needs about the root of the degrees of freedom. */
const MAX_STEPS = 100_000;
const TINY = 1e-300;

/**
 * The quantile of Student's t distribution: the value that lies above a share `probability` of it. `degrees` need not be
 * whole. Right to 1e-9 and better up to a million degrees of freedom.
 *
 * @throws RangeError for a probability outside (0, 1) and for degrees that are not above 0.
 */
export function studentTQuantile(probability: number, degrees: number): number {
  if (!(probability > 0 && probability < 1)) throw new RangeError(`${probability} is no probability between 0 and 1`);
  if (!(degrees > 0 && Number.isFinite(degrees))) throw new RangeError(`${degrees} is no number of degrees above 0`);
  if (probability === 0.5) return 0;
  if (probability < 0.5) return -studentTQuantile(1 - probability, degrees);
  const tail = 1 - probability;
  let high = 1;
  while (upperTail(high, degrees) > tail) high *= 2;
  let low = high === 1 ? 0 : high / 2;
  for (;;) {
    const middle = (low + high) / 2;
    if (middle <= low || middle >= high) return middle;
    if (upperTail(middle, degrees) > tail) low = middle;
    else high = middle;
  }
}

/**
 * The share of Student's t distribution that is as far from 0 as `t` or farther, on both sides: the p value of `t`.
 * `degrees` need not be whole; `t` may be infinite.
 *
 * @throws RangeError for a `t` that is no number and for degrees that are not above 0.
 */
export function studentTTails(t: number, degrees: number): number {
  if (Number.isNaN(t)) throw new RangeError('NaN is no value of the t distribution');
  if (!(degrees > 0 && Number.isFinite(degrees))) throw new RangeError(`${degrees} is no number of degrees above 0`);
  return Number.isFinite(t * t) ? 2 * upperTail(Math.abs(t), degrees) : 0;
}

/** The share of the distribution above `t`, for `t` of 0 and more. */
function upperTail(t: number, degrees: number): number {
  return regularizedBeta(t * t, degrees, degrees / 2, 0.5) / 2;
}

/** I_x(a, b) at x = degrees / (degrees + square). Both x and 1 - x are given whole, or one would lose its digits. */
function regularizedBeta(square: number, degrees: number, a: number, b: number): number {
  const x = degrees / (degrees + square);
  const rest = square / (degrees + square);
  if (rest === 0) return 1;
  const front = Math.exp(a * Math.log1p(-rest) + b * Math.log(rest) - logBeta(a, b));
  // The fraction converges fast on one side of the mean; the other side is reached by symmetry.
  if (x < (a + 1) / (a + b + 2)) return (front * betaFraction(x, a, b)) / a;
  return 1 - (front * betaFraction(rest, b, a)) / b;
}

/** The continued fraction of the incomplete beta function, by the method of Lentz. */
function betaFraction(x: number, a: number, b: number): number {
  const away = (value: number) => (Math.abs(value) < TINY ? TINY : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m <= MAX_STEPS; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    fraction *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    fraction *= d * c;
    if (Math.abs(d * c - 1) < Number.EPSILON * 4) return fraction;
  }
  throw new RangeError(`The t distribution with ${a * 2} degrees of freedom did not converge`);
}

function logBeta(a: number, b: number): number {
  return logGamma(a) + logGamma(b) - logGamma(a + b);
}

/** Coefficients of Lanczos, g = 7. */
const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
] as const;

function logGamma(value: number): number {
  if (value < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * value)) - logGamma(1 - value);
  const z = value - 1;
  const base = z + 7.5;
  const series = LANCZOS.reduce(
    (sum, coefficient, index) => sum + (index === 0 ? coefficient : coefficient / (z + index)),
    0,
  );
  return 0.5 * Math.log(2 * Math.PI) + (z + 0.5) * Math.log(base) - base + Math.log(series);
}
