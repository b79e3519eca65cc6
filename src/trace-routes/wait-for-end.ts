import { isFinal } from '../trace/trace-heads.ts';
import type { TraceStore } from '../trace/trace-store.ts';

/** Longest wait of `Prefer: wait` and `?wait=`, in seconds (contract section 3). */
export const MAX_WAIT_SECONDS = 240;

/** A run that another process executes is not heard of here: its row is asked for this often, in milliseconds. */
const POLL_EVERY_MS = 500;

/**
 * Waits until the run has its final state, `seconds` have passed, or the signal is aborted, whichever is first.
 * Never rejects because of the signal.
 */
export async function waitForEnd(
  store: TraceStore,
  traceId: string,
  options: { readonly seconds: number; readonly signal: AbortSignal },
): Promise<void> {
  const { signal } = options;
  if (options.seconds <= 0 || signal.aborted) return;
  await new Promise<void>((resolve, reject) => {
    const check = async () => {
      const row = await store.row(traceId);
      if (row === undefined || isFinal(row)) end(resolve);
    };
    const fail = (error: unknown) => end(() => reject(error));
    const stop = () => end(resolve);
    const unsubscribe = store.subscribe(traceId, (events) => {
      if (events.some((event) => event.type === 'run.finished')) stop();
    });
    const poll = setInterval(() => void check().catch(fail), POLL_EVERY_MS);
    const timer = setTimeout(stop, options.seconds * 1_000);
    signal.addEventListener('abort', stop, { once: true });
    const end = (settle: () => void) => {
      unsubscribe();
      clearInterval(poll);
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      settle();
    };
    // After the subscription, so that an end between the two is not missed.
    check().catch(fail);
  });
}
