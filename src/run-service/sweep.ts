import { sql } from 'kysely';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Database } from '../database/database.ts';
import type { RunQueue } from '../queue/run-queue.ts';

/** How often a worker sweeps: a Redis may have been emptied. */
const SWEEP_EVERY_MS = 15_000;
/** Rows that are looked at together. */
const PAGE = 1_000;
/** Pages of one round of a sweep that goes on for as long as its process does. */
const MAX_PAGES = 10;
/** Rows that one statement names. */
const MAX_NAMED = 500;

/**
 * Written out, as the index of unfinished runs has it: by it this costs what is unfinished, not what there is. A seat is
 * held by its owner and never queued.
 */
const UNFINISHED_RUN = sql<boolean>`(status = 'queued' or status = 'running') and origin <> 'chat'
  and not exists (select 1 from seats where seats.trace_id = traces.trace_id)`;

/**
 * Enqueues the accepted runs that have no entry in the queue: the rows are the truth, and the queue can be rebuilt from
 * them (contract section 3, "Durability"). One that another process enqueues meanwhile is in the queue once.
 *
 * @returns how many.
 */
export async function enqueueForgottenRuns(database: Database, queue: SweptQueue): Promise<number> {
  return await createSweep(database, queue, Number.POSITIVE_INFINITY)();
}

type SweptQueue = Pick<RunQueue, 'enqueue' | 'missing'>;

/** As `enqueueForgottenRuns`, round by round: each looks at 10,000 runs at most and goes on where the last one ended. */
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

export interface Sweeps {
  /** Resolves when the sweep that goes on has ended. */
  stop(): Promise<void>;
}

/** Sweeps from time to time, one sweep at a time; one that fails is logged. */
export function startSweeps(database: Database, queue: SweptQueue, logger: Logger): Sweeps {
  const sweep = createSweep(database, queue);
  let sweeping: Promise<void> | undefined;
  const run = async () => {
    try {
      const runs = await sweep();
      if (runs > 0) logger.warn({ runs }, 'Accepted runs without an entry in the queue were enqueued');
    } catch (error) {
      logger.error({ err: error }, 'It could not be looked whether every accepted run is in the queue');
    } finally {
      sweeping = undefined;
    }
  };
  const timer = setInterval(() => {
    sweeping ??= run();
  }, SWEEP_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      await sweeping;
    },
  };
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
      .where(UNFINISHED_RUN) // One may have ended since.
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
