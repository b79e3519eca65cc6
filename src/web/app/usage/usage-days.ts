/** How far back one looks, in days (UTC), today among them. */
export const USAGE_DAYS = ['7', '30', '90', 'all'] as const;
export type UsageDays = (typeof USAGE_DAYS)[number];

const DAY_MS = 86_400_000;

/** The time span of an address; a month by default. */
export function toDays(given: string | null): UsageDays {
  return USAGE_DAYS.find((each) => each === given) ?? '30';
}

/** The beginning of the first of those days; undefined for all time. `now` is milliseconds since 1970. */
export function toSince(days: UsageDays, now: number): string | undefined {
  if (days === 'all') return undefined;
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  return new Date(today - (Number(days) - 1) * DAY_MS).toISOString();
}
