import { isEnded } from '../../contract/service/ended.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';
import { type WaitLimit, waitForEnd } from '../../support/runtime/wait-for-end.ts';

/** Longest wait of `Prefer: wait` and `?wait=`, in seconds (contract section 3). */
export const MAX_WAIT_SECONDS = 240;

/** Waits for the end of a run by polling its row, since events of other processes do not arrive here. */
export async function waitForTrace(store: TraceStore, traceId: string, limit: WaitLimit): Promise<void> {
  await waitForEnd(
    {
      async isEnded() {
        const row = await store.row(traceId);
        return row === undefined || isEnded(row.status);
      },
      subscribe: (onHint) =>
        store.subscribe(traceId, (events) => {
          if (events.some(({ type }) => type === 'run.finished')) onHint();
        }),
    },
    limit,
  );
}
