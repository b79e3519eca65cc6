import type { Database } from '../database/database.ts';
import type { RunQueue } from '../queue/run-queue.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { UNFINISHED_STATUSES } from '../trace-routes/wait-for-end.ts';

/** Rows that are looked at together. */
const PAGE = 1_000;

/**
 * Enqueues the accepted runs that have no entry in the queue: the rows are the truth, and the queue can be rebuilt from
 * them (contract section 3, "Durability"). One that another process enqueues meanwhile is in the queue once.
 *
 * @returns how many.
 */
export async function enqueueForgottenRuns(
  database: Database,
  store: Pick<TraceStore, 'row'>,
  queue: Pick<RunQueue, 'enqueue' | 'missing'>,
): Promise<number> {
  let forgotten = 0;
  for (let after = ''; ; ) {
    const unfinished = await readUnfinished(database, after);
    for (const traceId of await queue.missing(unfinished)) {
      const row = await store.row(traceId);
      if (row === undefined || !UNFINISHED_STATUSES.includes(row.status)) continue;
      const { env_name: envName, priority } = row.request;
      await queue.enqueue({ traceId, priority, envName, keyId: row.keyId ?? null });
      forgotten += 1;
    }
    const last = unfinished.at(-1);
    if (last === undefined || unfinished.length < PAGE) return forgotten;
    after = last;
  }
}

async function readUnfinished(database: Database, after: string): Promise<readonly string[]> {
  const rows = await database.kysely
    .selectFrom('traces')
    .select('trace_id')
    .where('status', 'in', UNFINISHED_STATUSES)
    .where('origin', '=', 'run')
    .where('trace_id', '>', after)
    .orderBy('trace_id')
    .limit(PAGE)
    .execute();
  return rows.map(({ trace_id }) => trace_id);
}
