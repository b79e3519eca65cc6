import { inWords } from './deadline.ts';

export interface Deadline {
  /** Aborted with the error of the deadline when the time is over. */
  readonly signal: AbortSignal;
  /** Milliseconds; 0 once it is over. */
  remainingMs(): number;
  /** Stops the clock. Its owner has to call this. */
  clear(): void;
}

/** A clock that runs from now on, for work that ends by itself once its signal is aborted. It keeps no process alive. */
export function startDeadline(ms: number, toError: (limit: string) => unknown): Deadline {
  const controller = new AbortController();
  const endsAt = performance.now() + ms;
  const timer = setTimeout(() => controller.abort(toError(inWords(ms))), ms);
  timer.unref();
  return {
    signal: controller.signal,
    remainingMs: () => Math.max(0, Math.round(endsAt - performance.now())),
    clear: () => clearTimeout(timer),
  };
}
