import { DEFAULT_PORTS, MAX_STEPS, SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import { LONGEST_TIMER_MS } from '../../support/runtime/deadline.ts';
import { preview } from '../../support/schema/json-schema.ts';

/** Defaults for options of a scenario server. */
export const SESSION_DEFAULTS = { sessionTtlMs: 30 * 60_000, maxSessions: 1_000 } as const;
/** Most warm processes of one environment. Each takes about 60 MB. */
export const MAX_WARM_PROCESSES = 100;

const LONGEST_TIME = `${LONGEST_TIMER_MS} ms, 24.8 days, is the longest time that a timer holds. `;

interface Range {
  readonly min: number;
  readonly max?: number;
  readonly wayOut: string;
}

const RANGES = {
  sessionTtlMs: {
    min: 1,
    max: LONGEST_TIMER_MS,
    wayOut: `${LONGEST_TIME}Leave it out for ${SESSION_DEFAULTS.sessionTtlMs}`,
  },
  maxSessions: { min: 1, wayOut: `Leave it out for ${SESSION_DEFAULTS.maxSessions}` },
  maxSteps: { min: 1, max: MAX_STEPS.maximum, wayOut: `Leave it out for ${MAX_STEPS.default}` },
  warmProcesses: { min: 0, max: MAX_WARM_PROCESSES, wayOut: 'Take 0 for none' },
  hosts: { min: 1, max: 1_000, wayOut: 'Leave it out for the number of cores' },
  startTimeoutMs: { min: 1, max: LONGEST_TIMER_MS, wayOut: 'Leave it out for 60000' },
  shutdownGraceMs: {
    min: 0,
    max: LONGEST_TIMER_MS,
    wayOut: `${LONGEST_TIME}Leave it out for ${SHUTDOWN_GRACE_MS.service}`,
  },
  port: { min: 0, max: 65_535, wayOut: `Take 0 for any free one, or leave it out for ${DEFAULT_PORTS.scenarioServer}` },
} as const satisfies Readonly<Record<string, Range>>;

/** Options as untyped code may pass them. */
export type RangedOptions = { readonly [Name in keyof typeof RANGES]?: unknown };

/**
 * Checks the range of each numeric option. A time above Node's longest timer, for example, would elapse at once.
 *
 * @throws TypeError with the option, its value and the valid range. Undefined options get their default later.
 */
export function assertRanges(options: RangedOptions): void {
  for (const [name, range] of Object.entries<Range>(RANGES)) {
    const value = Object.entries(options).find(([given]) => given === name)?.[1];
    if (value !== undefined && !isWithin(value, range)) throw new TypeError(describeRange(name, value, range));
  }
}

function isWithin(value: unknown, { min, max = Number.MAX_SAFE_INTEGER }: Range): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max;
}

function describeRange(name: string, value: unknown, { min, max, wayOut }: Range): string {
  const range = max === undefined ? `from ${min}` : `from ${min} to ${max}`;
  const given = typeof value === 'number' ? String(value) : preview(value);
  return `${name} has to be a whole number ${range}, not ${given}: ${wayOut}.`;
}
