import type { TraceStore } from '../../../store/traces/trace-store.ts';
import { type Loop, startLoop } from '../../../support/runtime/loop.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';

/** Watches for cancel requests of the runs that are active here. The creator closes it. */
export interface CancelWatch {
  /** Calls back once when the run is to be cancelled. Returns a function that stops watching. */
  watch(traceId: string, onCancel: () => void): () => void;
  close(): void;
}

/** Polls all watched runs with one query. @param warn gets the error of a failed poll; the next poll may work. */
export function createCancelWatch(
  store: Pick<TraceStore, 'cancelRequests'>,
  warn: (error: unknown) => void,
): CancelWatch {
  const watched = new Map<string, () => void>();
  let loop: Loop | undefined;

  async function look(): Promise<void> {
    for (const traceId of await store.cancelRequests([...watched.keys()])) {
      const onCancel = watched.get(traceId);
      watched.delete(traceId);
      onCancel?.();
    }
  }

  function stopWhenEmpty(): void {
    if (watched.size > 0) return;
    void loop?.stop();
    loop = undefined;
  }

  return {
    watch(traceId, onCancel) {
      watched.set(traceId, onCancel);
      loop ??= startLoop({ look, restMs: PERIODS_MS.cancelRequests, onError: warn, keepsAlive: true });
      return () => {
        watched.delete(traceId);
        stopWhenEmpty();
      };
    },
    close() {
      watched.clear();
      stopWhenEmpty();
    },
  };
}
