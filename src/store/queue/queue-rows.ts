import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import type { DatabaseSchema } from '../database/tables/schema.ts';
import type { QueueEntry } from './run-queue.ts';

export type QueueExpression = ExpressionBuilder<DatabaseSchema, 'queue'>;

/** A lease that ends later than this was made while the clock was ahead. Its holder may be long dead. */
const LONGER_THAN_ANY_LEASE_MS = 60_000;

/** Fields that the entry leaves out are read from the run's row. */
export function toRow({ traceId, priority, envName, keyId }: QueueEntry, enqueuedAt: number) {
  return {
    trace_id: traceId,
    env_name: envName ?? ofRun(traceId, 'env_name'),
    key_id: keyId === undefined ? ofRun(traceId, 'key_id') : (keyId ?? ''),
    priority,
    enqueued_at: enqueuedAt,
    leased_by: null as string | null,
    lease_token: null as string | null,
    lease_until: null as number | null,
    is_redelivered: 0,
  };
}

function ofRun(traceId: string, column: 'env_name' | 'key_id') {
  return sql<string>`coalesce((select ${sql.ref(column)} from traces where traces.trace_id = ${traceId}), '')`;
}

type Connection = Database['kysely'] | DatabaseTransaction;
export type QueueRow = ReturnType<typeof toRow>;

/** Combines the inserts of one connection in one turn of the event loop into one statement. */
export function groupInserts(): (connection: Connection, row: QueueRow) => Promise<void> {
  const groups = new WeakMap<Connection, { readonly rows: QueueRow[]; readonly written: Promise<void> }>();
  return (connection, row) => {
    const open = groups.get(connection);
    if (open !== undefined) {
      open.rows.push(row);
      return open.written;
    }
    const rows = [row];
    const written = Promise.resolve().then(() => {
      groups.delete(connection);
      return insertRows(connection, rows);
    });
    groups.set(connection, { rows, written });
    return written;
  };
}

/** An existing entry stays unchanged: its holder must not lose it to a sweep. */
export async function insertRows(connection: Connection, rows: readonly QueueRow[]): Promise<void> {
  await connection
    .insertInto('queue')
    .values(rows)
    .onConflict((conflict) => conflict.column('trace_id').doNothing())
    .execute();
}

/** True for an entry that was never leased, was given back, or whose lease ran out. */
export function isWaiting(queue: QueueExpression, now: number): Expression<SqlBool> {
  return queue.or([queue('lease_until', 'is', null), hasRunOut(queue, now)]);
}

/**
 * True for an entry whose lease ran out. It still counts against the limit of its key, so that filters of keys do not
 * apply to it.
 */
export function isLost(queue: QueueExpression, now: number): Expression<SqlBool> {
  return queue.and([queue('lease_until', 'is not', null), hasRunOut(queue, now)]);
}

/** True also for a lease from before the clock was set back. */
function hasRunOut(queue: QueueExpression, now: number): Expression<SqlBool> {
  return queue.or([queue('lease_until', '<=', now), queue('lease_until', '>', now + LONGER_THAN_ANY_LEASE_MS)]);
}
