import type { EvaluationStatus, Report } from '../../../contract/evaluation.ts';
import { formatCount, formatDuration } from '../../format.ts';

type Interval = readonly [number, number] | null;

/** Null → `–`. */
export function formatMean(value: number | null, digits = 2): string {
  return value === null ? '–' : value.toFixed(digits).replace(/^-(0\.0+)$/, '$1');
}

/** `0.62 [0.55, 0.69]` */
export function formatWithInterval(value: number | null, interval: Interval): string {
  if (value === null) return '–';
  if (interval === null) return `${formatMean(value)} (no interval)`;
  const digits = digitsFor(interval);
  return `${formatMean(value, digits)} [${formatMean(interval[0], digits)}, ${formatMean(interval[1], digits)}]`;
}

/** `+0.06` */
export function formatDifference(value: number | null, digits = 2): string {
  if (value === null) return '–';
  const text = formatMean(value, digits);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text.replace('-', '−');
}

export function formatDifferenceInterval(interval: Interval): string {
  if (interval === null) return '(no interval)';
  const digits = digitsFor(interval);
  return `[${formatDifference(interval[0], digits)}, ${formatDifference(interval[1], digits)}]`;
}

/** Decimals for a value with this interval. */
export function digitsFor(interval: Interval): number {
  if (interval === null) return 2;
  const [low, high] = interval;
  // An end that is rounded to 0 would not say on which side of it it is.
  const isNearZero = [low, high].some((end) => end !== 0 && Math.abs(end) < 0.005);
  // An interval without width needs no more decimals.
  return isNearZero || (high !== low && high - low < 0.02) ? 3 : 2;
}

/** `0.034`, `< 0.0001` */
export function formatP(p: number | null): string {
  if (p === null) return '–';
  return p < 0.0001 ? '< 0.0001' : `= ${p < 0.01 ? p.toPrecision(2) : p.toFixed(3)}`;
}

export function formatPercent(share: number | null): string {
  if (share === null) return '–';
  // A rounded 100 % would hide that something is missing.
  const percent = share < 1 ? Math.min(99.9, share * 100) : 100;
  return `${percent === 100 ? '100' : percent.toFixed(1)} %`;
}

/** `198 of 200 attempts` */
export function describeCoverage({ coverage, n_attempts }: Report): string {
  return `${formatCount(Math.round(coverage * n_attempts))} of ${formatCount(n_attempts)} attempts`;
}

export function isEnded(status: EvaluationStatus): boolean {
  return status === 'completed' || status === 'cancelled';
}

/** `12.3k`, `4.5M`: tokens of many runs need no more. */
export function formatTokens(tokens: number): string {
  if (tokens < 10_000) return formatCount(tokens);
  return tokens < 1_000_000 ? `${(tokens / 1_000).toFixed(1)}k` : `${(tokens / 1_000_000).toFixed(2)}M`;
}

/** `7 h 38 min`: evaluations last longer than runs. */
export function formatLong(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return minutes < 60 ? formatDuration(ms) : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
