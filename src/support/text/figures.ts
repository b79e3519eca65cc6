/** 95 % confidence interval; null when unknown. */
export type Interval = readonly [low: number, high: number] | null;

/** Replacement for a missing figure. */
export const NO_FIGURE = '–';

/** Largest number of decimals. */
const MOST_DIGITS = 12;
/** Smaller differences are rounding errors. */
const SMALLEST_STEP = 1e-9;

const NO_INTERVAL = '(no interval)';
const TOO_FEW = '(too few tasks for an interval)';

/** The reward of one run, such as `0.25`, `1` or `0.333`. */
export function rewardText(reward: number | null): string {
  return reward === null ? NO_FIGURE : String(Number(rounded(reward, 3)));
}

/** A mean such as `0.61`, with the decimals that its interval needs. */
export function meanText(value: number | null, interval: Interval = null): string {
  return value === null ? NO_FIGURE : rounded(value, decimalsFor(interval));
}

/** A mean with its interval: `0.61 [0.57, 0.65]`, or `0.61 (no interval)`. */
export function withInterval(value: number | null, interval: Interval): string {
  if (value === null) return NO_FIGURE;
  return `${meanText(value, interval)} ${intervalText(interval, (end) => meanText(end, interval))}`;
}

/** A mean with half of its interval: `0.61 ±0.04`, or `0.61` without one. */
export function withHalf(value: number | null, interval: Interval): string {
  const shown = meanText(value, interval);
  return interval === null || value === null ? shown : `${shown} ±${meanText(halfOf(interval), interval)}`;
}

/** A difference with its sign, such as `+0.06`. */
export function signedText(value: number | null, interval: Interval = null): string {
  if (value === null) return NO_FIGURE;
  const shown = meanText(value, interval);
  return value > 0 && Number(shown) !== 0 ? `+${shown}` : shown;
}

/** The interval of a difference, such as `[+0.02, +0.10]`. */
export function signedIntervalText(interval: Interval): string {
  return intervalText(interval, (end) => signedText(end, interval));
}

/** A difference with its interval, such as `+0.06 [+0.02, +0.10]`. */
export function differenceText(value: number | null, interval: Interval): string {
  return value === null ? NO_FIGURE : `${signedText(value, interval)} ${signedIntervalText(interval)}`;
}

/**
 * A share such as `58 %`, with the decimals that its interval needs. Only exactly 1 is shown as 100 %, and only 0 as 0
 * %.
 */
export function shareText(share: number | null, interval: Interval = null): string {
  if (share === null) return NO_FIGURE;
  const digits = decimalsFor(interval) - 2;
  const shown = Number(rounded(share * 100, digits));
  if (shown === 100 && share < 1) return `${rounded(Math.min(99.9, Math.floor(share * 1_000) / 10), 1)} %`;
  if (shown === 0 && share > 0) return `${rounded(Math.max(0.1, share * 100), 1)} %`;
  return `${rounded(share * 100, digits)} %`;
}

/**
 * A share with its interval: `58 % [54 %, 62 %]`, or `58 % (no interval)`. An interval beyond 0 % or 100 % comes from
 * too few tasks; a note replaces it.
 */
export function shareWithInterval(share: number | null, interval: Interval): string {
  if (share === null) return NO_FIGURE;
  if (interval !== null && (interval[0] < 0 || interval[1] > 1)) return `${shareText(share)} ${TOO_FEW}`;
  return `${shareText(share, interval)} ${intervalText(interval, (end) => shareText(end, interval))}`;
}

/** A threshold as it was given, such as `0.8`. */
export function thresholdText(threshold: number): string {
  return String(Number(threshold.toFixed(MOST_DIGITS)));
}

/** Like `meanText`, with more decimals when a different value would look equal to the threshold. */
export function meanBeside(value: number, threshold: number, interval: Interval = null): string {
  const isOther = Math.abs(value - threshold) > SMALLEST_STEP;
  let digits = decimalsFor(interval);
  while (isOther && digits < MOST_DIGITS && rounded(value, digits) === rounded(threshold, digits)) digits += 1;
  return rounded(value, digits);
}

/** Like `shareText`, with more decimals when a different share would look equal to the threshold. */
export function shareBeside(share: number, threshold: number): string {
  const shown = shareText(share);
  if (shown !== shareText(threshold) || Math.abs(share - threshold) <= SMALLEST_STEP) return shown;
  return `${meanBeside(share * 100, threshold * 100)} %`;
}

/** A spread such as `6 (median), 20 (p95)`. */
export function spreadText(
  { median, p95 }: { readonly median: number | null; readonly p95: number | null },
  show: (value: number) => string = rewardText,
): string {
  if (median === null) return NO_FIGURE;
  return `${show(median)} (median), ${p95 === null ? NO_FIGURE : show(p95)} (p95)`;
}

/** A p value: `0.004` or `< 0.001`. */
export function probabilityText(p: number | null): string {
  if (p === null) return NO_FIGURE;
  if (p < 0.001) return '< 0.001';
  return rounded(p, p < 0.1 ? 3 : 2);
}

/** A p value with its name: `p = 0.004` or `p < 0.001`. */
export function probabilitySentence(p: number | null): string {
  const shown = probabilityText(p);
  return shown.startsWith('<') ? `p ${shown}` : `p = ${shown}`;
}

/** US dollars, such as `$3.20` or `$0.0042`. Only exactly 0 is shown as `$0.00`. */
export function moneyText(usd: number | null): string {
  if (usd === null) return NO_FIGURE;
  if (usd <= 0 || usd >= 0.1) return `$${grouped(Number(rounded(usd, 2)), 2)}`;
  return `$${usd.toFixed(Math.min(8, 1 - Math.floor(Math.log10(usd))))}`;
}

/** An amount of money without floating-point noise: 1.18478 instead of 1.184779999999999. */
export function withoutRounding(usd: number): number {
  return Number(usd.toPrecision(12));
}

/** A number of tokens: `12`, `1.2k`, `3.4M`. */
export function tokensText(tokens: number): string {
  if (tokens < 1_000) return String(tokens);
  const [unit, size] = tokens < 999_500 ? (['k', 1_000] as const) : (['M', 1_000_000] as const);
  const value = tokens / size;
  return `${value < 10 ? rounded(value, 1) : grouped(Math.round(value))}${unit}`;
}

/** A number with thousands separators, such as `1,600`. */
export function grouped(value: number, decimals = 0): string {
  return value.toLocaleString('en-US', {
    minimumFractionDigits: decimals,
    maximumFractionDigits: Math.max(decimals, 3),
  });
}

/** A count with its noun: `1 run`, `2,000 runs`, `3 boxes`. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** A duration: `850 ms`, `4.2 s`, `3 min 20 s`, `12 min`, `2 h 5 min`. */
export function durationText(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${Number(rounded(ms / 1_000, 1))} s`;
  const seconds = Math.round(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes < 10 && seconds % 60 > 0 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

/** An age: `45 s`, `12 min`, `3 h`, `9 days`. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/** A size such as `3.2 MB`, in powers of 1,000. */
export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const step = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1_000 ** step;
  return `${step === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[step]}`;
}

/** Number of decimals that separates a value from the ends of its interval, and a small end from 0. */
function decimalsFor(interval: Interval): number {
  if (interval === null) return 2;
  const half = halfOf(interval);
  const isVanishing = (digits: number) => interval.some((end) => end !== 0 && Number(rounded(end, digits)) === 0);
  let digits = half >= 0.02 || half === 0 ? 2 : half >= 0.002 ? 3 : 4;
  while (digits < 4 && isVanishing(digits)) digits += 1;
  return digits;
}

function halfOf(interval: Interval): number {
  return interval === null ? 0 : (interval[1] - interval[0]) / 2;
}

function intervalText(interval: Interval, show: (end: number) => string): string {
  return interval === null ? NO_INTERVAL : `[${interval.map(show).join(', ')}]`;
}

/** Rounds in decimal. `toFixed` would turn 0.825, slightly less in binary, into 0.82. It never returns `-0.00`. */
function rounded(value: number, digits: number): string {
  const scaled = Number((Math.abs(value) * 10 ** digits).toPrecision(15));
  if (!(scaled < Number.MAX_SAFE_INTEGER)) return String(value);
  const shown = (Math.round(scaled) / 10 ** digits).toFixed(digits);
  return value < 0 && Number(shown) !== 0 ? `-${shown}` : shown;
}
