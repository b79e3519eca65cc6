import { sql } from 'kysely';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Database } from '../../../store/database/database.ts';
import type { RunQueue } from '../../../store/queue/run-queue.ts';
import { UNFINISHED } from '../../../store/traces/rows/trace-rows.ts';
import { type Loop, startLoop } from '../../../support/runtime/loop.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';

/** Rows of one database read. */
const PAGE = 1_000;
/** Most pages of one round of a periodic sweep. */
const MAX_PAGES = 10;
/** Most rows that one statement names. */
const MAX_NAMED = 500;

/**
 * Spelled like the condition of the partial index, so that the query reads unfinished runs only. Seats are excluded,
 * since they are never queued.
 */
const UNFINISHED_RUN = sql<boolean>`(${sql.join(
  UNFINISHED.map((status) => sql`status = ${sql.lit(status)}`),
  sql` or `,
)}) and origin <> 'chat'
  and not exists (select 1 from seats where seats.trace_id = traces.trace_id)`;

/**
 * Queues accepted runs that have no queue entry: the rows are authoritative, and the queue can be rebuilt from them
 * (contract section 3, "Durability"). A run that another process queues meanwhile gets one entry.
 *
 * @returns how many were queued.
 */
export async function enqueueForgottenRuns(database: Database, queue: SweptQueue): Promise<number> {
  return await createSweep(database, queue, Number.POSITIVE_INFINITY)();
}

type SweptQueue = Pick<RunQueue, 'enqueue' | 'missing'>;

/**
 * Like `enqueueForgottenRuns` in rounds. Each round reads at most 10,000 runs and continues where the last one
 * stopped.
 */
export function createSweep(database: Database, queue: SweptQueue, maxPages = MAX_PAGES): () => Promise<number> {
  let after = '';
  return async () => {
    let forgotten = 0;
    for (let page = 0; page < maxPages; page++) {
      const unfinished = await readUnfinished(database, after);
      forgotten += await enqueueAll(database, queue, await queue.missing(unfinished));
      after = unfinished.length < PAGE ? '' : (unfinished.at(-1) ?? '');
      if (after === '') break;
    }
    return forgotten;
  };
}

/** Sweeps periodically. A failed sweep is logged. */
export function startSweeps(database: Database, queue: SweptQueue, logger: Logger): Loop {
  const sweep = createSweep(database, queue);
  return startLoop({
    async look() {
      const runs = await sweep();
      if (runs > 0) logger.warn({ runs }, 'Accepted runs without an entry in the queue were enqueued');
    },
    restMs: PERIODS_MS.forgottenRuns,
    onError: (error) => logger.error({ err: error }, 'Accepted runs without an entry could not be looked for'),
  });
}

async function readUnfinished(database: Database, after: string): Promise<readonly string[]> {
  const rows = await database.kysely
    .selectFrom('traces')
    .select('trace_id')
    .where(UNFINISHED_RUN)
    .where('trace_id', '>', after)
    .orderBy('trace_id')
    .limit(PAGE)
    .execute();
  return rows.map(({ trace_id }) => trace_id);
}

async function enqueueAll(database: Database, queue: SweptQueue, traceIds: readonly string[]): Promise<number> {
  let enqueued = 0;
  for (let from = 0; from < traceIds.length; from += MAX_NAMED) {
    const rows = await database.kysely
      .selectFrom('traces')
      .select(['trace_id', 'env_name', 'key_id', 'request'])
      .where('trace_id', 'in', traceIds.slice(from, from + MAX_NAMED))
      .where(UNFINISHED_RUN) // A run may have ended since.
      .execute();
    await database.transaction(async (transaction) => {
      const enqueuing = rows.map(({ trace_id: traceId, env_name: envName, key_id: keyId, request }) =>
        queue.enqueue({ traceId, priority: priorityOf(request), envName, keyId }, transaction),
      );
      await Promise.all(enqueuing);
    });
    enqueued += rows.length;
  }
  return enqueued;
}

const requestSchema = z.object({ priority: z.int() });

function priorityOf(request: string): number {
  return requestSchema.parse(JSON.parse(request)).priority;
}
