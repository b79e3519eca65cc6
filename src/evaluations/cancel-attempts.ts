import type { Database, DatabaseTransaction } from '../database/database.ts';
import type { RunQueue } from '../queue/run-queue.ts';
import { CANCELLED } from '../rollout/run-endings.ts';
import { UNFINISHED } from '../trace/trace-rows.ts';
import { AttemptSupersededError, type TraceStore } from '../trace/trace-store.ts';

export interface CancelOptions {
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  /** Tells a worker of this process, which then need not wait for its next look at the row. */
  readonly cancelHere?: ((traceId: string) => void) | undefined;
}

/** Traces that are ended at once. */
const AT_ONCE = 100;

/** Asks whoever holds attempts of an evaluation to end them, in the transaction that ends the evaluation. */
export async function requestCancels(transaction: DatabaseTransaction, evaluationId: string): Promise<void> {
  await transaction
    .updateTable('traces')
    .set({ cancel_requested: 1 })
    .where('evaluation_id', '=', evaluationId)
    .where('status', 'in', UNFINISHED)
    .execute();
}

/**
 * Ends the attempts that nobody has taken from the queue yet, after `requestCancels`. Those that run are ended by their
 * workers, within seconds; so are those that this call leaves, if it is cut off.
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

/** Ends those of these traces that nobody has taken from the queue yet. Their workers end those that run. */
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
      // A worker has taken it in the meantime, and hears of it as of the others.
      if (!(error instanceof AttemptSupersededError)) throw error;
    }
  }
  cancelHere?.(trace_id);
}
