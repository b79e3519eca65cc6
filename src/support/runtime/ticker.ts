export interface Ticker {
  /** Restarts the wait. */
  refresh(): void;
  stop(): void;
}

/**
 * Calls `tick` periodically, and does not keep the process alive. It is for calls that end at once: work that waits is a
 * `startLoop`.
 */
export function startTicker(tick: () => void, everyMs: number): Ticker {
  const timer = setInterval(tick, everyMs).unref();
  return { refresh: () => void timer.refresh(), stop: () => clearInterval(timer) };
}
