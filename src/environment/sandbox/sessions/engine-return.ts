import { backoffMs, sleep } from '../../../support/runtime/backoff.ts';
import { EngineError } from '../engine.ts';

/** Milliseconds that work waits for an engine that is away. After them a run loses its attempt. */
const ENGINE_AWAY_MS = 60_000;
const BETWEEN_TRIES = { firstMs: 250, longestMs: 5_000 } as const;

/** Clock and limit of a wait, for tests. */
export interface AwayLimits {
  readonly awayMs?: number | undefined;
  /** Called before each wait, with the error of the last try. */
  readonly onAway?: ((error: EngineError) => void) | undefined;
}

/** True for the error of an engine. The name is compared, because an environment may have its own copy of this package. */
export function isEngineError(error: unknown): error is EngineError {
  return error instanceof Error && error.name === 'EngineError' && 'fault' in error;
}

/**
 * Does the work again while the engine is away, for up to a minute. Only for work that may be done twice.
 *
 * @throws the last error of the engine; any other error at once; the reason of the signal.
 */
export async function whenEngineIsBack<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  { awayMs = ENGINE_AWAY_MS, onAway }: AwayLimits = {},
): Promise<T> {
  let awaySince: number | undefined;
  for (let retry = 0; ; retry += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isEngineError(error) || error.fault !== 'unreachable') throw error;
      awaySince ??= performance.now();
      const leftMs = awayMs - (performance.now() - awaySince);
      if (leftMs <= 0) {
        const message = `${error.message.replace(/\.$/, '')}. The engine was away for ${Math.round(awayMs / 1_000)} s.`;
        throw new EngineError('unreachable', message, { cause: error });
      }
      onAway?.(error);
      await sleep(Math.min(leftMs, backoffMs(retry, BETWEEN_TRIES)), signal);
    }
  }
}
