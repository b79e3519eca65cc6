import type { ServerResponse } from 'node:http';

/** Milliseconds for which a client may take nothing of what waits for it. */
const STALLED_MS = 60_000;
const CHECKS = 4;

export interface StalledClientOptions {
  readonly stalledMs?: number;
  /** Ends the connection. */
  letGo?(): void;
}

/**
 * Ends the connection of a client that takes nothing of a reply any more; one that is slow, or for which nothing waits,
 * is left alone. The socket's own timeout does not tell these apart.
 *
 * @returns how to write to the reply from now on, which gives what `response.write` gives.
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
  const timer = setInterval(() => {
    checksWithoutProgress = waiting > 0 && taken === takenBefore ? checksWithoutProgress + 1 : 0;
    takenBefore = taken;
    if (checksWithoutProgress >= CHECKS) letGo();
  }, stalledMs / CHECKS);
  timer.unref();
  response.once('close', () => clearInterval(timer));
  return (piece) => {
    waiting += 1;
    return response.write(piece, onTaken);
  };
}
