/**
 * The longest time that a timer of Node.js holds, 24.8 days, in milliseconds: beyond it, it fires at once. Requests of the
 * MCP SDK, whose default is a minute, get it where they have no limit.
 */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface DeadlineOptions {
  /** Milliseconds that the work has; no limit by default, and above the longest timer. */
  readonly ms?: number | undefined;
  /** The caller's: work that it aborts ends with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Makes the error after `ms`. It gets the limit in words, such as `2 s`. */
  readonly toError?: ((limit: string) => unknown) | undefined;
}

/** The error of a deadline that names no other. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';

  constructor(limit: string) {
    super(`It took more than ${limit}`);
  }
}

/**
 * Runs `work` until it settles, the caller's signal is aborted or the time is over, whichever comes first. It rejects at
 * once then, also where `work` does not listen to the signal that it is given, and a later result of `work` is dropped.
 * Leaves no listener and no timer behind.
 *
 * @throws the reason of the signal; what `toError` makes, a `DeadlineError` by default; the error of `work`.
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
 * Waits for work that goes on by itself, at most `ms` milliseconds.
 *
 * @returns whether it ended in time.
 * @throws the error of `work`, if it failed in time.
 */
export async function endsWithin(work: PromiseLike<unknown>, ms: number | undefined): Promise<boolean> {
  // No error, whose stack would cost each wait that ends in time.
  const late = {};
  try {
    await settleFirst(() => work, { ms, toError: () => late });
    return true;
  } catch (error) {
    if (error === late) return false;
    throw error;
  }
}

/**
 * Settles as the promise does, or rejects with the reason of the signal, as an Error, if that comes first. A later result
 * of the promise is dropped. Leaves no listener behind.
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
        // Rejected first: the error that the work throws when its signal is aborted must not become the reason.
        reject(reason);
        onStop?.(reason);
      };
      if (signal !== undefined) {
        onAbort = () => stop(signal.reason);
        // A listener that stays would keep the work's memory for as long as the signal lives.
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      }
      if (ms !== undefined && ms <= LONGEST_TIMER_MS) {
        timer = setTimeout(() => stop((toError ?? toDeadlineError)(inWords(ms))), ms);
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

/** A limit as messages say it, such as `2 s`. */
export function inWords(milliseconds: number): string {
  return milliseconds < 1_000 ? `${milliseconds} ms` : `${Math.round(milliseconds / 100) / 10} s`;
}
