import { PERIODS_MS } from './periods.ts';
import { startTicker, type Ticker } from './ticker.ts';

export type KeepAlive = Ticker;

/**
 * Calls `beat` periodically, so that the peer and proxies do not drop the connection. `refresh` restarts the wait, after
 * another message was sent.
 */
export function startKeepAlive(beat: () => void, everyMs: number = PERIODS_MS.keepAlive): KeepAlive {
  return startTicker(beat, everyMs);
}
