import { InvalidArgumentError } from 'commander';

const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Parses an age: `90s`, `45m`, `12h`, `30d`, `2w`. @returns milliseconds. */
export function parseAge(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text.trim()) ?? [];
  const unitMs = UNITS_MS[unit];
  if (count !== undefined && unitMs !== undefined) return Number(count) * unitMs;
  throw new InvalidArgumentError('It has to be an age such as 90s, 45m, 12h, 30d or 2w.');
}

/** Parses a time in ISO 8601, or an age before now. @returns milliseconds since 1970. */
export function parseMoment(text: string): number {
  if (/^\d{4}-\d{2}-\d{2}/.test(text)) {
    const time = Date.parse(text);
    if (!Number.isNaN(time)) return time;
  } else if (/^\d+[smhdw]$/.test(text)) {
    return Date.now() - parseAge(text);
  }
  throw new InvalidArgumentError('It has to be a time such as 2026-11-21T09:00:00Z, or an age such as 12h or 30d.');
}
