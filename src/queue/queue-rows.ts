import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import type { DatabaseSchema } from '../database/schema.ts';
import type { QueueEntry } from './run-queue.ts';

export type QueueExpression = ExpressionBuilder<DatabaseSchema, 'queue'>;

/** A lease that ends later than that was made when the clock was ahead: its holder may be dead for long. */
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

/** Inserts of one connection in one turn of the event loop become one statement. */
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

/** An entry that is there already stays as it is: its holder must not lose it to a sweep. */
export async function insertRows(connection: Connection, rows: readonly QueueRow[]): Promise<void> {
  await connection
    .insertInto('queue')
    .values(rows)
    .onConflict((conflict) => conflict.column('trace_id').doNothing())
    .execute();
}

/** Never leased, given back, or held by a lease that ran out. */
export function isWaiting(queue: QueueExpression, now: number): Expression<SqlBool> {
  return queue.or([queue('lease_until', 'is', null), hasRunOut(queue, now)]);
}

/** Held by a lease that ran out. Its key's place is its own, so that no filter of keys holds it back. */
export function isLost(queue: QueueExpression, now: number): Expression<SqlBool> {
  return queue.and([queue('lease_until', 'is not', null), hasRunOut(queue, now)]);
}

/** Or held by one of before the clock was put back. */
function hasRunOut(queue: QueueExpression, now: number): Expression<SqlBool> {
  return queue.or([queue('lease_until', '<=', now), queue('lease_until', '>', now + LONGER_THAN_ANY_LEASE_MS)]);
}
