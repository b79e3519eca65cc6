import { inWords } from './deadline.ts';

export interface Deadline {
  /** Aborted with the error of the deadline when the time is over. */
  readonly signal: AbortSignal;
  /** Milliseconds; 0 once it is over. */
  remainingMs(): number;
  /** Starts the clock anew, where the time is not over. */
  restart(): void;
  /** Stops the clock. Its owner has to call this. */
  clear(): void;
}

/** A clock that runs from now on, for work that ends by itself once its signal is aborted. It keeps no process alive. */
export function startDeadline(ms: number, toError: (limit: string) => unknown): Deadline {
  const controller = new AbortController();
  let endsAt = 0;
  let timer: NodeJS.Timeout | undefined;
  const restart = () => {
    clearTimeout(timer);
    endsAt = performance.now() + ms;
    timer = setTimeout(() => controller.abort(toError(inWords(ms))), ms);
    timer.unref();
  };
  restart();
  return {
    signal: controller.signal,
    remainingMs: () => Math.max(0, Math.round(endsAt - performance.now())),
    restart: () => {
      if (!controller.signal.aborted) restart();
    },
    clear: () => clearTimeout(timer),
  };
}
