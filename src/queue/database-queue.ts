import { randomBytes } from 'node:crypto';
import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import { afterCommit, type Database, type DatabaseTransaction } from '../database/database.ts';
import type { DatabaseSchema } from '../database/schema.ts';
import { isEnvironmentAdmitted, isOfGroup, isSelective, readGroups } from './entry-groups.ts';
import { renewLeases } from './renew-leases.ts';
import { LEASE, type Lease, type QueueEntry, type RunQueue } from './run-queue.ts';

/** Entries that one statement asks for. */
const MAX_ASKED = 500;

/** A lease that ends later than that was made when the clock was ahead: its holder may be dead for long. */
const LONGER_THAN_ANY_LEASE_MS = 60_000;

/** How often the groups are read again when other workers have emptied all of them meanwhile. */
const MAX_ROUNDS = 3;

export interface DatabaseQueueOptions {
  /** Milliseconds since 1970. Every process of one database has to read the same clock. */
  readonly now?: () => number;
}

/**
 * The queue as a table of the database that holds the traces: an entry and its run are one commit, and every process
 * that opened it may take from it. Polling for the entries of other processes is the worker's: hints alone may get lost.
 */
export function createDatabaseQueue(database: Database, options: DatabaseQueueOptions = {}): RunQueue {
  const { now = Date.now } = options;
  const insertWith = groupInserts();
  const listeners = new Set<() => void>();
  const announce = () => {
    for (const listener of listeners) listener();
    database.hints?.send();
  };
  /** Before the commit nobody could see the entry. */
  const announceAfter = (transaction: DatabaseTransaction | undefined) => {
    if (transaction === undefined) setImmediate(announce);
    else afterCommit(transaction, () => setImmediate(announce));
  };
  /** The first of those for which `condition` holds. */
  async function take({ worker, token, leaseMs }: Lease, condition: Condition): Promise<Lease | undefined> {
    const taken = await database.kysely
      .updateTable('queue')
      .set((row) => ({
        leased_by: worker,
        lease_token: token,
        lease_until: now() + leaseMs,
        is_redelivered: row.case().when('lease_until', 'is not', null).then(row.lit(1)).else(row.lit(0)).end(),
      }))
      .where('trace_id', '=', (queue) =>
        queue
          .selectFrom('queue')
          .select('trace_id')
          .where(condition)
          .orderBy('priority', 'desc')
          .orderBy('enqueued_at')
          .orderBy('trace_id')
          .limit(1)
          // SQLite has one writer at a time; on Postgres one that is being taken is left to whoever takes it.
          .$if(database.kind === 'postgres', (next) => next.forUpdate('queue').skipLocked()),
      )
      .returning(['trace_id', 'is_redelivered'])
      .executeTakeFirst();
    if (taken === undefined) return undefined;
    return { traceId: taken.trace_id, worker, token, leaseMs, isRedelivered: taken.is_redelivered === 1 };
  }

  return {
    async enqueue(entry, transaction) {
      await insertWith(transaction ?? database.kysely, toRow(entry, now()));
      announceAfter(transaction);
    },

    async enqueueLeased(entry, worker, transaction) {
      const lease = newLease(entry.traceId, worker, LEASE.durationMs);
      const held = { leased_by: worker, lease_token: lease.token, lease_until: now() + lease.leaseMs };
      await insert(transaction, [{ ...toRow(entry, now()), ...held }]);
      return lease;
    },

    async lease(worker, { leaseMs = LEASE.durationMs, filter = {} } = {}) {
      const taking = { ...newLease('', worker, leaseMs), leaseMs };
      if (!isSelective(filter)) return await take(taking, (entry) => isWaiting(entry, now()));
      const lost = await take(taking, (entry) => entry.and([isLost(entry, now()), isEnvironmentAdmitted(filter)]));
      if (lost !== undefined) return lost;
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const groups = await readGroups(database, filter);
        for (const group of groups) {
          const taken = await take(taking, (entry) => isOfGroup(entry, group));
          if (taken !== undefined) return taken;
        }
        if (groups.length === 0) return undefined;
      }
      return undefined;
    },

    renew: (leases) => renewLeases(database, leases, now),

    // A thread reads the clock of the machine.
    leaseAddress: options.now === undefined ? database.address : undefined,

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
      announceAfter(transaction);
    },

    async withdraw(traceId) {
      await database.kysely
        .deleteFrom('queue')
        .where('trace_id', '=', traceId)
        .where((row) => isWaiting(row, now()))
        .execute();
    },

    onEntry(listener) {
      const own = () => listener(); // one function may listen twice
      listeners.add(own);
      const stopHearing = database.hints?.hear(own);
      return () => {
        listeners.delete(own);
        stopHearing?.();
      };
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

    async missing(traceIds) {
      const missing = new Set(traceIds);
      for (let from = 0; from < traceIds.length; from += MAX_ASKED) {
        const asked = traceIds.slice(from, from + MAX_ASKED);
        const rows = await database.kysely
          .selectFrom('queue')
          .select('trace_id')
          .where('trace_id', 'in', asked)
          .execute();
        for (const { trace_id } of rows) missing.delete(trace_id);
      }
      return [...missing];
    },

    async close() {},
  };
}

type Condition = (queue: ExpressionBuilder<DatabaseSchema, 'queue'>) => Expression<SqlBool>;

/** Never leased, given back, or held by a lease that ran out. */
function isWaiting(queue: ExpressionBuilder<DatabaseSchema, 'queue'>, now: number): Expression<SqlBool> {
  return queue.or([queue('lease_until', 'is', null), hasRunOut(queue, now)]);
}

/** Held by a lease that ran out. Its key's place is its own, so that no filter of keys holds it back. */
function isLost(queue: ExpressionBuilder<DatabaseSchema, 'queue'>, now: number): Expression<SqlBool> {
  return queue.and([queue('lease_until', 'is not', null), hasRunOut(queue, now)]);
}

/** Or held by one of before the clock was put back. */
function hasRunOut(queue: ExpressionBuilder<DatabaseSchema, 'queue'>, now: number): Expression<SqlBool> {
  return queue.or([queue('lease_until', '<=', now), queue('lease_until', '>', now + LONGER_THAN_ANY_LEASE_MS)]);
}

function newLease(traceId: string, worker: string, leaseMs: number): Lease {
  return { traceId, worker, token: randomBytes(16).toString('hex'), leaseMs, isRedelivered: false };
}

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
type Row = ReturnType<typeof toRow>;

/** Inserts of one connection in one turn of the event loop become one statement. */
function groupInserts(): (connection: Connection, row: Row) => Promise<void> {
  const groups = new WeakMap<Connection, { readonly rows: Row[]; readonly written: Promise<void> }>();
  return (connection, row) => {
    const open = groups.get(connection);
    if (open !== undefined) {
      open.rows.push(row);
      return open.written;
    }
    const rows = [row];
    const written = Promise.resolve().then(() => {
      groups.delete(connection);
      return insert(connection, rows);
    });
    groups.set(connection, { rows, written });
    return written;
  };
}

/** An entry that is there already stays as it is: its holder must not lose it to a sweep. */
async function insert(connection: Connection, rows: readonly Row[]): Promise<void> {
  await connection
    .insertInto('queue')
    .values(rows)
    .onConflict((conflict) => conflict.column('trace_id').doNothing())
    .execute();
}
