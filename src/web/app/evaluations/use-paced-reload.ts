import { useEffect, useRef } from 'preact/hooks';
import { isAway } from '../../../client/connection.ts';
import { type Resource, useResource } from '../use-resource.ts';

/** Milliseconds between two reads at least. */
const LEAST_MS = 3_000;
/** Reading takes at most one part in so many of the time, so that an open page costs its server little. */
const SHARE = 100;

/**
 * Loads something, and loads it again by itself while `isLive` says so of it and the page is to be seen: the more seldom
 * the longer it takes. While the server is away, the last value stays (`isStale`).
 */
export function usePacedReload<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
  isLive: (value: T) => boolean,
): { readonly resource: Resource<T>; reload(): void } {
  const tookMs = useRef(0);
  const last = useRef<{ readonly value: T; readonly key: string }>(undefined);
  const key = JSON.stringify(inputs);
  const timed = async (signal: AbortSignal) => {
    const startedAt = performance.now();
    const value = await load(signal);
    tookMs.current = performance.now() - startedAt;
    last.current = { value, key };
    return value;
  };
  const { resource: loaded, reload } = useResource(timed, inputs);
  const kept = last.current?.key === key ? last.current.value : undefined;
  const isKept = loaded.state === 'failed' && kept !== undefined && isAway(loaded.error);
  const resource: Resource<T> = isKept ? { state: 'ready', value: kept, isStale: true } : loaded;
  const isWaiting = isKept || (loaded.state === 'ready' && !loaded.isStale && isLive(loaded.value));
  useEffect(
    () => (isWaiting ? whenDue(reload, Math.max(LEAST_MS, tookMs.current * SHARE)) : undefined),
    [isWaiting, loaded, reload],
  );
  return { resource, reload };
}

/** Calls back after so many milliseconds, when the page is to be seen. Returns the way to stop. */
function whenDue(callback: () => void, delayMs: number): () => void {
  let isDue = false;
  const look = () => {
    if (isDue && document.visibilityState === 'visible') callback();
  };
  const timer = setTimeout(() => {
    isDue = true;
    look();
  }, delayMs);
  document.addEventListener('visibilitychange', look);
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
  };
}
