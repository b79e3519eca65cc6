import { durationText } from '../text/figures.ts';

export interface Deadline {
  /** Aborted with the deadline's error when the time is over. */
  readonly signal: AbortSignal;
  /** Milliseconds; 0 when the time is over. */
  remainingMs(): number;
  /** Restarts the clock, unless the time is over. */
  restart(): void;
  /**
   * Pauses the clock until the returned function is called. With several pauses it resumes after the last. Calling the
   * function again has no effect.
   */
  pause(): () => void;
  /** Stops the clock. Its owner has to call this. */
  clear(): void;
}

/** Starts a clock for work that ends when its signal is aborted. It does not keep the process alive. */
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
    timer = setTimeout(() => controller.abort(toError(durationText(ms))), leftMs);
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
