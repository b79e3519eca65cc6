import type { TraceStore } from '../trace/trace-store.ts';

/** Finds out whether somebody has asked to cancel the runs that go on here. Its creator closes it. */
export interface CancelWatch {
  /** Calls back once when the run is to be cancelled. Returns the way to stop. */
  watch(traceId: string, onCancel: () => void): () => void;
  close(): void;
}

/** Milliseconds between two looks: a cancellation by another process reaches a run within about as long. */
const LOOK_EVERY_MS = 3_000;

/** Looks for all runs in one query. @param warn takes a failure to look, which the next look may not have. */
export function createCancelWatch(
  store: Pick<TraceStore, 'cancelRequests'>,
  warn: (error: unknown) => void,
): CancelWatch {
  const watched = new Map<string, () => void>();
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;

  async function look(): Promise<void> {
    for (const traceId of await store.cancelRequests([...watched.keys()])) {
      const onCancel = watched.get(traceId);
      watched.delete(traceId);
      onCancel?.();
    }
  }

  function stopWhenEmpty(): void {
    if (watched.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    watch(traceId, onCancel) {
      watched.set(traceId, onCancel);
      timer ??= setInterval(() => {
        if (isLooking) return;
        isLooking = true;
        look()
          .catch(warn)
          .finally(() => {
            isLooking = false;
          });
      }, LOOK_EVERY_MS);
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
