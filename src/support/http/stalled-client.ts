import type { ServerResponse } from 'node:http';
import { startTicker } from '../runtime/ticker.ts';

/** Milliseconds without progress after which a client counts as stalled. */
const STALLED_MS = 60_000;
const CHECKS = 4;

export interface StalledClientOptions {
  readonly stalledMs?: number;
  /** Ends the connection. */
  letGo?(): void;
}

/**
 * Ends the connection of a client that stopped reading its reply. A slow client, or one for which nothing waits, is
 * left alone; the socket's own timeout cannot tell these apart.
 *
 * @returns a replacement for `response.write`, with the same result.
 */
export function letGoWhenStalled(
  response: ServerResponse,
  { stalledMs = STALLED_MS, letGo = () => void response.destroy() }: StalledClientOptions = {},
): (piece: string | Uint8Array) => boolean {
  let waiting = 0;
  let taken = 0;
  let takenBefore = 0;
  let checksWithoutProgress = 0;
  const onTaken = () => {
    waiting -= 1;
    taken += 1;
  };
  const ticker = startTicker(() => {
    checksWithoutProgress = waiting > 0 && taken === takenBefore ? checksWithoutProgress + 1 : 0;
    takenBefore = taken;
    if (checksWithoutProgress >= CHECKS) letGo();
  }, stalledMs / CHECKS);
  response.once('close', () => ticker.stop());
  return (piece) => {
    waiting += 1;
    return response.write(piece, onTaken);
  };
}
