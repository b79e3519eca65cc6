import { type Backoff, backoffMs, sleep } from '../../support/runtime/backoff.ts';
import type { GatewayFailure } from '../gateway-failure.ts';
import type { CallWatch, OnWait } from './call-guard.ts';

/** Tries of a call: the first and two retries (contract section 3, "Gateway retries"). */
export const MAX_TRIES = 3;
const BACKOFF: Backoff = { firstMs: 500, longestMs: 8_000 };
const MAX_RETRY_AFTER_MS = 60_000;

/** Clock, random numbers and sleep, which tests replace. */
export interface RetryTiming {
  /** Milliseconds since 1970. */
  now(): number;
  /** A number of 0 or more and less than 1. */
  random(): number;
  /** Rejects with the signal's reason when it is aborted. */
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
  /** False once a token was delivered: from then on a failure is final. */
  mayRetry(): boolean;
  /** Most tries. Default 3. */
  readonly maxTries?: number | undefined;
  /** Makes the error that a wait is for. */
  toError(failure: GatewayFailure, tries: number): Error;
}

/**
 * The watch of a call without a guard: it tries up to three times unless told otherwise, and waits as the gateway asks (at
 * most 60 s) or ever longer with some jitter.
 */
export function createRetryWatch(options: RetryOptions): CallWatch {
  const { signal, timing, onWait, maxTries = MAX_TRIES, mayRetry, toError } = options;
  let tries = 0;
  return {
    async enter() {
      signal.throwIfAborted();
      tries += 1;
      return null;
    },
    async succeeded() {},
    async failed(failure) {
      if (failure === undefined || tries >= maxTries || !failure.isPassing || !mayRetry()) return false;
      const resume = onWait?.(toError(failure, tries));
      try {
        await timing.sleep(retryWaitMs(failure, tries, timing), signal);
      } finally {
        resume?.();
      }
      return true;
    },
  };
}

/** Milliseconds before the next try. @param tries number of tries so far. */
export function retryWaitMs(
  failure: GatewayFailure,
  tries: number,
  timing: Pick<RetryTiming, 'now' | 'random'>,
): number {
  const asked = failure.retryAfterMs(timing.now());
  if (asked !== undefined) return Math.min(asked, MAX_RETRY_AFTER_MS);
  return backoffMs(tries - 1, BACKOFF, timing.random);
}
