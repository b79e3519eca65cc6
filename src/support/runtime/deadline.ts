import { durationText } from '../text/figures.ts';

/**
 * The longest time of a Node.js timer in milliseconds, 24.8 days. A longer timer would fire at once. Requests of the
 * MCP SDK, whose default is a minute, get it when they have no limit.
 */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface DeadlineOptions {
  /** Limit in milliseconds. Without it, or beyond 24.8 days, there is no limit. */
  readonly ms?: number | undefined;
  /** The caller's signal. When it is aborted, the work rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Creates the error after `ms`. It gets the limit in words, such as `2 s`. */
  readonly toError?: ((limit: string) => unknown) | undefined;
}

/** The default error of a deadline. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';

  constructor(limit: string) {
    super(`It took more than ${limit}`);
  }
}

/**
 * Runs `work` until it settles, the caller's signal is aborted, or the time is over. In the last two cases it rejects
 * at once, even when `work` ignores its signal, and a later result of `work` is dropped. It leaves no listener and no
 * timer behind.
 *
 * @throws the reason of the signal; the error of `toError`, by default a `DeadlineError`; the error of `work`.
 */
export async function withDeadline<T>(
  work: (signal: AbortSignal) => PromiseLike<T>,
  options: DeadlineOptions,
): Promise<T> {
  options.signal?.throwIfAborted();
  const controller = new AbortController();
  return await settleFirst(
    () => work(controller.signal),
    options,
    (reason) => controller.abort(reason),
  );
}

/**
 * Waits at most `ms` milliseconds for work that is already running.
 *
 * @returns true when it ended in time.
 * @throws the error of `work`, if it failed in time; the reason of the signal.
 */
export async function endsWithin(
  work: PromiseLike<unknown>,
  ms: number | undefined,
  signal?: AbortSignal,
): Promise<boolean> {
  // This is not an Error, because a stack trace for each wait would be expensive.
  const late = {};
  try {
    await settleFirst(() => work, { ms, signal, toError: () => late });
    return true;
  } catch (error) {
    if (error === late) return false;
    throw error;
  }
}

/**
 * Settles like the promise, or rejects with the signal's reason (as an Error) if the abort comes first. A later result
 * of the promise is dropped. It leaves no listener behind.
 */
export async function untilAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  try {
    return await settleFirst(() => promise, { signal });
  } catch (error) {
    if (!signal.aborted || error !== signal.reason || error instanceof Error) throw error;
    throw new Error(String(error));
  }
}

async function settleFirst<T>(
  start: () => PromiseLike<T>,
  { ms, signal, toError }: DeadlineOptions,
  onStop?: (reason: unknown) => void,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let onAbort: (() => void) | undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      const stop = (reason: unknown) => {
        // The rejection comes first, so that an error of the aborted work does not replace the reason.
        reject(reason);
        onStop?.(reason);
      };
      if (signal !== undefined) {
        onAbort = () => stop(signal.reason);
        // Listeners are removed, because they would keep the work in memory for the life of the signal.
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      }
      if (ms !== undefined && ms <= LONGEST_TIMER_MS) {
        timer = setTimeout(() => stop((toError ?? toDeadlineError)(durationText(ms))), ms);
      }
      start().then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
  }
}

function toDeadlineError(limit: string): DeadlineError {
  return new DeadlineError(limit);
}
