/** Growing waits, in milliseconds. */
export interface Backoff {
  readonly firstMs: number;
  /** Default: unlimited. */
  readonly longestMs?: number;
}

/**
 * Milliseconds to wait before the next try. The wait doubles with each retry and is randomly up to a quarter shorter,
 * so that clients that failed together do not come back together.
 */
export function backoffMs(
  retry: number,
  { firstMs, longestMs = Number.POSITIVE_INFINITY }: Backoff,
  random: () => number = Math.random,
): number {
  return Math.round(Math.min(firstMs * 2 ** retry, longestMs) * (1 - random() / 4));
}

/** Resolves after the time. @throws the reason of the signal. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
