/**
 * The number of concurrent calls that a gateway accepts for a model, learned from the results of calls (contract
 * section 7, "Concurrency"). Pure functions on a state. Times are milliseconds of any clock. A clock that jumps delays
 * a change by at most `LIMIT.restMs` or `LIMIT.longestRestMs`.
 */
export interface AdaptiveLimit {
  /** Limit before rounding; see `callsAtOnce`. */
  readonly limit: number;
  /** True during slow start: the limit doubles with each round until a call fails. */
  readonly isStarting: boolean;
  /** Successful calls in this round. A round has as many calls as the limit. */
  readonly clean: number;
  /** Time before which the limit does not grow. */
  readonly restsUntil: number;
  /** Limit at which a call was last refused; null before the first refusal. */
  readonly refusedAt: number | null;
  /** Time until which the limit stays below `refusedAt`. */
  readonly staysBelowUntil: number;
  /** Number of cuts. A refused call that was sent before the last cut does not cut again. */
  readonly cuts: number;
}

export const LIMIT = {
  lowest: 4,
  /** First limit: twice doubled from the lowest. */
  first: 16,
  growth: 1.05,
  cut: 0.8,
  /** Milliseconds without growth after a server error, or after a refusal without `retry-after`. */
  restMs: 15_000,
  /** Longest `retry-after` that is followed. */
  longestRestMs: 600_000,
  /**
   * Share of the refused limit at which growth pauses for `belowMs`. Being refused at each return would cost more than
   * the last few calls gain.
   */
  below: 0.95,
  belowMs: 60_000,
} as const;

/** The limit of a new gateway. @param ceiling the most calls that may ever run at once. */
export function newLimit(ceiling: number): AdaptiveLimit {
  return {
    limit: Math.min(LIMIT.first, ceiling),
    isStarting: true,
    clean: 0,
    restsUntil: 0,
    refusedAt: null,
    staysBelowUntil: 0,
    cuts: 0,
  };
}

/** The rounded limit, 1 or more. */
export function callsAtOnce({ limit }: AdaptiveLimit, ceiling: number): number {
  return Math.max(1, Math.floor(Math.min(limit, ceiling)));
}

/** @param calls successful calls while all places were taken. Other calls say nothing about a higher limit. */
export function afterSuccess(before: AdaptiveLimit, calls: number, { now, ceiling }: LimitMoment): AdaptiveLimit {
  const state = withinReach(before, now);
  if (now < state.restsUntil) return { ...state, clean: 0 };
  const isBelow = state.refusedAt !== null && now < state.staysBelowUntil;
  const top = isBelow ? Math.min(ceiling, (state.refusedAt ?? ceiling) * LIMIT.below) : ceiling;
  let { limit } = state;
  let clean = state.clean + calls;
  while (limit < top && clean >= limit) {
    clean -= limit;
    limit = Math.min(top, limit * (state.isStarting ? 2 : LIMIT.growth));
  }
  return { ...state, limit, clean: limit < top ? clean : 0 };
}

export interface Refusal {
  /** Value of `cuts` when the call was sent. */
  readonly sentAt: number;
  /** Pause that the gateway asks for; undefined if it names none. */
  readonly retryAfterMs?: number | undefined;
  /** Share of the places in use, 0 to 1. */
  readonly inUse: number;
}

/** The state after a 429. */
export function afterRefusal(state: AdaptiveLimit, refusal: Refusal, { now, ceiling }: LimitMoment): AdaptiveLimit {
  if (refusal.sentAt < state.cuts) return { ...state, clean: 0 };
  const restMs = Math.min(refusal.retryAfterMs ?? LIMIT.restMs, LIMIT.longestRestMs);
  const used = Math.min(state.limit, ceiling) * Math.min(1, refusal.inUse);
  const limit = Math.max(Math.min(LIMIT.lowest, ceiling), used * LIMIT.cut);
  return {
    limit,
    isStarting: false,
    clean: 0,
    restsUntil: now + restMs,
    refusedAt: Math.max(used, limit),
    staysBelowUntil: now + Math.max(restMs, LIMIT.belowMs),
    cuts: state.cuts + 1,
  };
}

/** The state after a 5xx or a lost connection. */
export function afterServerError(before: AdaptiveLimit, { now }: Pick<LimitMoment, 'now'>): AdaptiveLimit {
  const state = withinReach(before, now);
  return { ...state, isStarting: false, clean: 0, restsUntil: Math.max(state.restsUntil, now + LIMIT.restMs) };
}

export interface LimitMoment {
  readonly now: number;
  readonly ceiling: number;
}

/** Shortens rests that end too late, because a clock was set back or belongs to another machine. */
function withinReach(state: AdaptiveLimit, now: number): AdaptiveLimit {
  const latest = now + LIMIT.longestRestMs;
  if (state.restsUntil <= latest && state.staysBelowUntil <= latest) return state;
  const { restsUntil, staysBelowUntil } = state;
  return { ...state, restsUntil: Math.min(restsUntil, latest), staysBelowUntil: Math.min(staysBelowUntil, latest) };
}
