/** Decimals that a figure needs beside an interval of this half width, so that both can be told apart. */
function decimalsFor(half: number): number {
  if (half >= 0.02 || half === 0) return 2;
  return half >= 0.002 ? 3 : 4;
}

function halfOf(interval: Interval): number {
  return interval === null ? 0 : (interval[1] - interval[0]) / 2;
}

/** 95 %; null where it cannot be known. */
export type Interval = readonly [low: number, high: number] | null;

/** `0.61`, with as many decimals as an interval beside it asks for; `-` where there is none. */
export function rewardText(value: number | null, interval: Interval = null): string {
  return value === null ? '-' : withoutMinusZero(value.toFixed(decimalsFor(halfOf(interval))));
}

/** `0.61 [0.57, 0.65]`, `0.61` without an interval. */
export function withInterval(value: number | null, interval: Interval): string {
  const shown = rewardText(value, interval);
  if (interval === null || value === null) return shown;
  return `${shown} [${interval.map((end) => rewardText(end, interval)).join(', ')}]`;
}

/** `0.61 ±0.04`. */
export function withHalf(value: number | null, interval: Interval): string {
  const shown = rewardText(value, interval);
  return interval === null || value === null ? shown : `${shown} ±${rewardText(halfOf(interval), interval)}`;
}

/** `+0.06 [+0.02, +0.10]`: a difference has its sign. */
export function differenceText(value: number | null, interval: Interval): string {
  if (value === null) return '-';
  const signed = (number: number) => (number > 0 ? '+' : '') + rewardText(number, interval);
  return interval === null ? signed(value) : `${signed(value)} [${interval.map(signed).join(', ')}]`;
}

/** `58 %`. Only the whole is 100 %, and only nothing 0 %. */
export function shareText(share: number | null): string {
  if (share === null) return '-';
  const percent = share * 100;
  const rounded = Math.round(percent);
  const isHidden = (rounded === 100 && share < 1) || (rounded === 0 && share > 0);
  if (!isHidden) return `${rounded} %`;
  return rounded === 0 ? `${Math.max(0.1, percent).toFixed(1)} %` : `${(Math.floor(percent * 10) / 10).toFixed(1)} %`;
}

/** `58 % [54 %, 62 %]`. */
export function shareWithInterval(share: number | null, interval: Interval): string {
  if (share === null || interval === null) return shareText(share);
  return `${shareText(share)} [${interval.map((end) => `${Math.round(end * 100)} %`).join(', ')}]`;
}

/** `$3.20`, `$0.0042`; `-` where a price is not known. */
export function moneyText(usd: number | null): string {
  if (usd === null) return '-';
  if (usd <= 0 || usd >= 0.1) return `$${grouped(usd, 2)}`;
  return `$${usd.toFixed(Math.min(8, 1 - Math.floor(Math.log10(usd))))}`;
}

/** `1,600`. */
export function grouped(value: number, decimals = 0): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** `12`, `1.2k`, `3.4M`: amounts of tokens. */
export function tokensText(tokens: number): string {
  if (tokens < 1_000) return String(tokens);
  const [unit, size] = tokens < 999_500 ? (['k', 1_000] as const) : (['M', 1_000_000] as const);
  const value = tokens / size;
  return `${value < 10 ? value.toFixed(1) : grouped(value)}${unit}`;
}

/** `4 s`, `3 min 20 s`, `2 h 5 min`: how long something takes. */
export function spanText(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes < 10 && seconds % 60 > 0 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

/** A p value: `0.004`, `< 0.001`. */
export function probabilityText(p: number | null): string {
  if (p === null) return '-';
  if (p < 0.001) return '< 0.001';
  return p < 0.1 ? p.toFixed(3) : p.toFixed(2);
}

function withoutMinusZero(text: string): string {
  return /^-0(\.0+)?$/.test(text) ? text.slice(1) : text;
}
