import { useCallback, useEffect, useState } from 'preact/hooks';

/** A loaded value: not yet there, there (perhaps an older one while a newer loads), or failed. */
export type Resource<T> =
  | { readonly state: 'loading' }
  | { readonly state: 'ready'; readonly value: T; readonly isStale: boolean }
  | { readonly state: 'failed'; readonly error: unknown };

/**
 * Loads something, and again when one of `inputs` changes or `reload` is called; what is not waited for any more is aborted.
 */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
): { readonly resource: Resource<T>; reload(): void } {
  const [resource, setResource] = useState<Resource<T>>({ state: 'loading' });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const gone = new AbortController();
    setResource((known) => (known.state === 'ready' ? { ...known, isStale: true } : { state: 'loading' }));
    load(gone.signal).then(
      (value) => !gone.signal.aborted && setResource({ state: 'ready', value, isStale: false }),
      (error: unknown) => !gone.signal.aborted && setResource({ state: 'failed', error }),
    );
    return () => gone.abort();
  }, [...inputs, round]);
  const reload = useCallback(() => setRound((number) => number + 1), []);
  return { resource, reload };
}

/** Calls back every so many milliseconds while the page is to be seen; `undefined` stops. */
export function useInterval(callback: () => void, everyMs: number | undefined): void {
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => document.visibilityState === 'visible' && callback(), everyMs);
    return () => clearInterval(timer);
  }, [callback, everyMs]);
}
