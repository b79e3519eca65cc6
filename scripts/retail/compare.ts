import { isDeepStrictEqual } from 'node:util';

/** Same values, whatever the order of keys; numbers are the same double, but 0 is -0. */
export function isEqual(left: unknown, right: unknown): boolean {
  return isDeepStrictEqual(withoutNegativeZero(left), withoutNegativeZero(right));
}

function withoutNegativeZero(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNegativeZero);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withoutNegativeZero(member)]));
  }
  return value === 0 ? 0 : value;
}

/** JSON of the value, cut where it is long: for messages. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 400 ? `${text.slice(0, 400)}...` : text;
}
