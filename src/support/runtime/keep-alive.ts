import { PERIODS_MS } from './periods.ts';

export interface KeepAlive {
  /** Restarts the wait, after another message was sent. */
  refresh(): void;
  stop(): void;
}

/**
 * Calls `beat` periodically, so that the peer and proxies do not drop the connection. It does not keep the process
 * alive.
 */
export function startKeepAlive(beat: () => void, everyMs: number = PERIODS_MS.keepAlive): KeepAlive {
  const timer = setInterval(beat, everyMs).unref();
  return { refresh: () => void timer.refresh(), stop: () => clearInterval(timer) };
}
