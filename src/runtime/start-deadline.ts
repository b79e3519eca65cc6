import { inWords } from './deadline.ts';

export interface Deadline {
  /** Aborted with the error of the deadline when the time is over. */
  readonly signal: AbortSignal;
  /** Milliseconds; 0 once it is over. */
  remainingMs(): number;
  /** Starts the clock anew, where the time is not over. */
  restart(): void;
  /** Stands still until what it returns is called; where several pause it, until all have. Later calls do nothing. */
  pause(): () => void;
  /** Stops the clock. Its owner has to call this. */
  clear(): void;
}

/** A clock that runs from now on, for work that ends by itself once its signal is aborted. It keeps no process alive. */
export function startDeadline(ms: number, toError: (limit: string) => unknown): Deadline {
  const controller = new AbortController();
  const pauses = new Set<object>();
  let leftMs = ms;
  let endsAt = 0;
  let timer: NodeJS.Timeout | undefined;
  const run = () => {
    clearTimeout(timer);
    if (pauses.size > 0 || controller.signal.aborted) return;
    endsAt = performance.now() + leftMs;
    timer = setTimeout(() => controller.abort(toError(inWords(ms))), leftMs);
    timer.unref();
  };
  const remainingMs = () => (pauses.size > 0 ? leftMs : Math.max(0, endsAt - performance.now()));
  run();
  return {
    signal: controller.signal,
    remainingMs: () => Math.round(remainingMs()),
    restart: () => {
      leftMs = ms;
      run();
    },
    pause: () => {
      const pause = {};
      leftMs = remainingMs();
      pauses.add(pause);
      clearTimeout(timer);
      return () => {
        if (pauses.delete(pause)) run();
      };
    },
    clear: () => {
      leftMs = remainingMs();
      pauses.add(controller);
      clearTimeout(timer);
    },
  };
}
