import { randomBytes } from 'node:crypto';
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import type { DatabaseSchema } from '../database/schema.ts';
import { LEASE, type Lease, type QueueEntry, type RunQueue } from './run-queue.ts';

export interface DatabaseQueueOptions {
  /** Milliseconds since 1970. Every process of one database has to read the same clock. */
  readonly now?: () => number;
}

/**
 * The queue as a table of the database that holds the traces: an entry and its run are one commit, and every process
 * that opened the file may take from it. Polling for the entries of other processes is the worker's.
 */
export function createDatabaseQueue(database: Database, options: DatabaseQueueOptions = {}): RunQueue {
  const { now = Date.now } = options;
  const listeners = new Set<() => void>();
  const announce = () => {
    for (const listener of listeners) listener();
  };

  return {
    async enqueue(entry, transaction) {
      await insert(transaction ?? database.kysely, toRow(entry, now()));
      // After the caller's commit at the earliest: before it nobody could see the entry.
      setImmediate(announce);
    },

    async enqueueLeased(entry, worker, transaction) {
      const lease = newLease(entry.traceId, worker, LEASE.durationMs);
      await insert(transaction, {
        ...toRow(entry, now()),
        leased_by: worker,
        lease_token: lease.token,
        lease_until: now() + lease.leaseMs,
      });
      return lease;
    },

    async lease(worker, { leaseMs = LEASE.durationMs } = {}) {
      const { token } = newLease('', worker, leaseMs);
      const taken = await database.kysely
        .updateTable('queue')
        .set((row) => ({
          leased_by: worker,
          lease_token: token,
          lease_until: now() + leaseMs,
          is_redelivered: row.case().when('lease_until', 'is not', null).then(1).else(0).end(),
        }))
        .where('trace_id', '=', (queue) =>
          queue
            .selectFrom('queue')
            .select('trace_id')
            .where((row) => isWaiting(row, now()))
            .orderBy('priority', 'desc')
            .orderBy('enqueued_at')
            .orderBy('trace_id')
            .limit(1),
        )
        .returning(['trace_id', 'is_redelivered'])
        .executeTakeFirst();
      if (taken === undefined) return undefined;
      return { traceId: taken.trace_id, worker, token, leaseMs, isRedelivered: taken.is_redelivered === 1 };
    },

    async renew(lease) {
      const { numUpdatedRows } = await database.kysely
        .updateTable('queue')
        .set({ lease_until: now() + lease.leaseMs })
        .where('trace_id', '=', lease.traceId)
        .where('lease_token', '=', lease.token)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },

    async complete(lease) {
      await database.kysely
        .deleteFrom('queue')
        .where('trace_id', '=', lease.traceId)
        .where('lease_token', '=', lease.token)
        .execute();
    },

    async release(lease, transaction) {
      await (transaction ?? database.kysely)
        .updateTable('queue')
        .set({ leased_by: null, lease_token: null, lease_until: null, is_redelivered: 0 })
        .where('trace_id', '=', lease.traceId)
        .where('lease_token', '=', lease.token)
        .execute();
      setImmediate(announce);
    },

    onEntry(listener) {
      const own = () => listener(); // one function may listen twice
      listeners.add(own);
      return () => listeners.delete(own);
    },

    async counts() {
      const { waiting, entries } = await database.kysely
        .selectFrom('queue')
        .select((row) => [
          row.fn.countAll<number>().filterWhere(isWaiting(row, now())).as('waiting'),
          row.fn.countAll<number>().as('entries'),
        ])
        .executeTakeFirstOrThrow();
      return { waiting: Number(waiting), leased: Number(entries) - Number(waiting) };
    },
  };
}

/** Never leased, given back, or held by a lease that ran out. */
function isWaiting(queue: ExpressionBuilder<DatabaseSchema, 'queue'>, now: number): Expression<SqlBool> {
  return queue.or([queue('lease_until', 'is', null), queue('lease_until', '<=', now)]);
}

function newLease(traceId: string, worker: string, leaseMs: number): Lease {
  return { traceId, worker, token: randomBytes(16).toString('hex'), leaseMs, isRedelivered: false };
}

function toRow({ traceId, priority }: QueueEntry, enqueuedAt: number) {
  return {
    trace_id: traceId,
    priority,
    enqueued_at: enqueuedAt,
    leased_by: null as string | null,
    lease_token: null as string | null,
    lease_until: null as number | null,
    is_redelivered: 0,
  };
}

/** An entry that is there already stays as it is: its holder must not lose it to a sweep. */
async function insert(
  connection: Database['kysely'] | DatabaseTransaction,
  row: ReturnType<typeof toRow>,
): Promise<void> {
  await connection
    .insertInto('queue')
    .values(row)
    .onConflict((conflict) => conflict.column('trace_id').doNothing())
    .execute();
}
