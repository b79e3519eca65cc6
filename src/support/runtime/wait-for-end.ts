import { sleep } from './backoff.ts';
import { PERIODS_MS } from './periods.ts';

/** The limit of a wait for an end. */
export interface WaitLimit {
  readonly seconds: number;
  readonly signal: AbortSignal;
}

export interface AwaitedEnd {
  /** Resolves to true when the end has come. */
  isEnded(): Promise<boolean>;
  /**
   * Subscribes to hints that the end may have come. Without it the wait polls more often.
   *
   * @returns a function that ends the subscription.
   */
  subscribe?(onHint: () => void): () => void;
}

/**
 * Waits until the end has come, the time is over, or the signal is aborted. An abort does not reject.
 *
 * @throws the error of `isEnded`.
 */
export async function waitForEnd({ isEnded, subscribe }: AwaitedEnd, { seconds, signal }: WaitLimit): Promise<void> {
  const endsAt = performance.now() + seconds * 1_000;
  const everyMs = subscribe === undefined ? PERIODS_MS.ends : PERIODS_MS.hintedEnds;
  let hint = new AbortController();
  const unsubscribe = subscribe?.(() => hint.abort());
  try {
    while (!signal.aborted && performance.now() < endsAt) {
      hint = new AbortController(); // It is created before the check, so that a hint during the check is not missed.
      if (await isEnded()) return;
      const rest = sleep(Math.min(everyMs, endsAt - performance.now()), AbortSignal.any([signal, hint.signal]));
      await rest.catch(() => {}); // The loop condition finds out why the sleep ended.
    }
  } finally {
    unsubscribe?.();
  }
}
