/**
 * How many calls of a model its gateway takes at once, found out as the calls go (contract section 7, "Concurrency"). Pure:
 * a state, and what happens to it. The time is milliseconds of whichever clock the caller has; one that jumps delays a
 * change by `LIMIT.restMs` or `LIMIT.longestRestMs` at most.
 */
export interface AdaptiveLimit {
  /** Not rounded; `callsAtOnce` is. */
  readonly limit: number;
  /** Slow start: it doubles with each clean round until something goes wrong. */
  readonly isStarting: boolean;
  /** Calls that went well in this round. A round is as many as the limit. */
  readonly clean: number;
  /** It does not grow before. */
  readonly restsUntil: number;
  /** The limit at which a call was refused last; null before the first refusal. */
  readonly refusedAt: number | null;
  /** Until then it stays below `refusedAt`. */
  readonly staysBelowUntil: number;
  /** Refusals of calls that were sent before the last cut do not cut again. */
  readonly cuts: number;
}

export const LIMIT = {
  lowest: 4,
  /** The first limit: two doublings from the lowest. */
  first: 16,
  growth: 1.05,
  cut: 0.8,
  /** Without growth after a refusal that names no time, and after an error of the server. */
  restMs: 15_000,
  /** What a gateway may ask for with `retry-after`. */
  longestRestMs: 600_000,
  /**
   * The share of the limit that was refused at which it stays for a while: to be refused at each return would cost more
   * than the last few calls bring.
   */
  below: 0.95,
  belowMs: 60_000,
} as const;

/** Of nothing known. @param ceiling the most calls that may ever go on at once. */
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

/** 1 or more. */
export function callsAtOnce({ limit }: AdaptiveLimit, ceiling: number): number {
  return Math.max(1, Math.floor(Math.min(limit, ceiling)));
}

/** @param calls that went well while all places were taken: others say nothing about a higher limit. */
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
  /** `cuts` of the state when the call was sent. */
  readonly sentAt: number;
  /** What the gateway asks for; undefined where it does not say. */
  readonly retryAfterMs?: number | undefined;
  /** The share of the places that was in use, 0 to 1. */
  readonly inUse: number;
}

/** After a 429. */
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

/** After a 5xx, or a connection that was lost. */
export function afterServerError(before: AdaptiveLimit, { now }: Pick<LimitMoment, 'now'>): AdaptiveLimit {
  const state = withinReach(before, now);
  return { ...state, isStarting: false, clean: 0, restsUntil: Math.max(state.restsUntil, now + LIMIT.restMs) };
}

export interface LimitMoment {
  readonly now: number;
  readonly ceiling: number;
}

/** A clock that was set back, or that of another machine, must not make a rest longer than any is. */
function withinReach(state: AdaptiveLimit, now: number): AdaptiveLimit {
  const latest = now + LIMIT.longestRestMs;
  if (state.restsUntil <= latest && state.staysBelowUntil <= latest) return state;
  const { restsUntil, staysBelowUntil } = state;
  return { ...state, restsUntil: Math.min(restsUntil, latest), staysBelowUntil: Math.min(staysBelowUntil, latest) };
}
