import { type Backoff, backoffMs, sleep } from '../runtime/backoff.ts';
import type { OnWait } from './call-guard.ts';
import type { GatewayFailure } from './gateway-failure.ts';

/** Two retries after the first try (contract section 3, "Gateway retries"). */
export const MAX_TRIES = 3;
const BACKOFF: Backoff = { firstMs: 500, longestMs: 8_000 };
const MAX_RETRY_AFTER_MS = 60_000;

/** The edges of time and chance, so that tests need neither wait nor guess. */
export interface RetryTiming {
  /** Milliseconds since 1970. */
  now(): number;
  /** 0 to below 1. */
  random(): number;
  /** Rejects with the reason of the signal when that is aborted. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export const systemTiming: RetryTiming = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep,
};

export interface RetryOptions {
  readonly signal: AbortSignal;
  readonly timing: RetryTiming;
  readonly onWait?: OnWait | undefined;
  /** Turns the error of a try into a failure. */
  toFailure(thrown: unknown): GatewayFailure;
  /** False once a token was delivered: from then on a failure is final. */
  mayRetry(): boolean;
  /** Default 3. */
  readonly maxTries?: number | undefined;
  /** Makes the error that is thrown at the end. */
  toError(failure: GatewayFailure, tries: number): Error;
}

/**
 * Tries up to three times unless told otherwise, waiting as the gateway asks (at most 60 s) or ever longer with some jitter.
 *
 * @returns the value, and how many tries failed before it.
 * @throws what `toError` makes of the last failure, or the reason of the signal.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  options: RetryOptions,
): Promise<{ readonly value: T; readonly retries: number }> {
  for (let tries = 1; ; tries += 1) {
    options.signal.throwIfAborted();
    try {
      return { value: await attempt(), retries: tries - 1 };
    } catch (thrown) {
      options.signal.throwIfAborted();
      const failure = options.toFailure(thrown);
      if (tries >= (options.maxTries ?? MAX_TRIES) || !failure.isPassing || !options.mayRetry())
        throw options.toError(failure, tries);
      const resume = options.onWait?.(options.toError(failure, tries));
      try {
        await options.timing.sleep(retryWaitMs(failure, tries, options.timing), options.signal);
      } finally {
        resume?.();
      }
    }
  }
}

/** Milliseconds before the next try, after so many. */
export function retryWaitMs(
  failure: GatewayFailure,
  tries: number,
  timing: Pick<RetryTiming, 'now' | 'random'>,
): number {
  const asked = failure.retryAfterMs(timing.now());
  if (asked !== undefined) return Math.min(asked, MAX_RETRY_AFTER_MS);
  return backoffMs(tries - 1, BACKOFF, timing.random);
}
