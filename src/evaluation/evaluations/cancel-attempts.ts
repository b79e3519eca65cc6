import { CANCELLED } from '../../rollout/session/run-endings.ts';
import type { Database, DatabaseTransaction } from '../../store/database/database.ts';
import type { RunQueue } from '../../store/queue/run-queue.ts';
import { UNFINISHED } from '../../store/traces/rows/trace-rows.ts';
import { AttemptSupersededError, type TraceStore } from '../../store/traces/trace-store.ts';

export interface CancelOptions {
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  /** Cancels a run of this process at once, before its worker reads the database row again. */
  readonly cancelHere?: ((traceId: string) => void) | undefined;
}

/** Traces that are ended concurrently. */
const AT_ONCE = 100;

/** Requests the cancellation of running attempts, in the transaction that ends the evaluation. */
export async function requestCancels(transaction: DatabaseTransaction, evaluationId: string): Promise<void> {
  await transaction
    .updateTable('traces')
    .set({ cancel_requested: 1 })
    .where('evaluation_id', '=', evaluationId)
    .where('status', 'in', UNFINISHED)
    .execute();
}

/**
 * Ends queued attempts, after `requestCancels`. Workers end running ones within seconds, and also the rest if this call
 * is interrupted.
 */
export async function endQueued(options: CancelOptions, evaluationId: string, signal?: AbortSignal): Promise<void> {
  for (let after = ''; signal?.aborted !== true; ) {
    const rows = await options.database.kysely
      .selectFrom('traces')
      .select(['trace_id', 'attempt', 'status'])
      .where('evaluation_id', '=', evaluationId)
      .where('status', 'in', UNFINISHED)
      .where('trace_id', '>', after)
      .orderBy('trace_id')
      .limit(AT_ONCE)
      .execute();
    await Promise.all(rows.map((row) => endOne(options, row)));
    after = rows.at(-1)?.trace_id ?? '';
    if (rows.length < AT_ONCE) return;
  }
}

/** Ends those of the traces that are still queued. Workers end the running ones. */
export async function endTraces(options: CancelOptions, traceIds: readonly string[]): Promise<void> {
  if (traceIds.length === 0) return;
  const rows = await options.database.kysely
    .selectFrom('traces')
    .select(['trace_id', 'attempt', 'status'])
    .where('trace_id', 'in', traceIds)
    .where('status', 'in', UNFINISHED)
    .execute();
  await Promise.all(rows.map((row) => endOne(options, row)));
}

async function endOne(
  { store, queue, cancelHere }: CancelOptions,
  { trace_id, attempt, status }: { readonly trace_id: string; readonly attempt: number; readonly status: string },
): Promise<void> {
  if (status === 'queued') {
    try {
      await store.append(trace_id, attempt, [CANCELLED]);
      await queue.withdraw(trace_id);
    } catch (error) {
      // A worker has taken the run meanwhile, and gets the cancellation.
      if (!(error instanceof AttemptSupersededError)) throw error;
    }
  }
  cancelHere?.(trace_id);
}
