import type { Database } from '../database/database.ts';
import type { RunQueue } from '../queue/run-queue.ts';
import type { TraceStore } from '../trace/trace-store.ts';

/**
 * Enqueues the accepted runs that have no entry in the queue: the rows are the truth, and the queue can be rebuilt from
 * them (contract section 3, "Durability").
 *
 * @returns how many.
 */
export async function enqueueForgottenRuns(database: Database, store: TraceStore, queue: RunQueue): Promise<number> {
  const forgotten = await database.kysely
    .selectFrom('traces')
    .leftJoin('queue', 'queue.trace_id', 'traces.trace_id')
    .select('traces.trace_id')
    .where('traces.status', 'in', ['queued', 'running'])
    .where('traces.origin', '=', 'run')
    .where('queue.trace_id', 'is', null)
    .execute();
  for (const { trace_id: traceId } of forgotten) {
    const row = await store.row(traceId);
    if (row !== undefined) await queue.enqueue({ traceId, priority: row.request.priority });
  }
  return forgotten.length;
}
