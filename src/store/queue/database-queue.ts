import { type Expression, type SqlBool, sql } from 'kysely';
import { newId } from '../../support/runtime/new-id.ts';
import { afterCommit, type Database, type DatabaseTransaction } from '../database/database.ts';
import { GroupCommit } from '../database/group-commit.ts';
import { isEnvironmentAdmitted, isOfGroup, isSelective, isTraceAdmitted, readGroups } from './entry-groups.ts';
import { groupInserts, insertRows, isLost, isWaiting, type QueueExpression, toRow } from './queue-rows.ts';
import { renewLeases } from './renew-leases.ts';
import { LEASE, type Lease, type LeaseFilter, type RunQueue } from './run-queue.ts';

/** Largest number of entries in one statement. */
const MAX_ASKED = 500;

/** How many times the groups are read again when other workers emptied all of them in the meantime. */
const MAX_ROUNDS = 3;

export interface DatabaseQueueOptions {
  /** Milliseconds since 1970. Every process of one database has to read the same clock. */
  readonly now?: () => number;
}

/**
 * The queue as a table of the traces' database. An entry and its run are one commit, and every process with the
 * database may take entries. Workers also poll for entries of other processes, because hints may get lost.
 */
export function createDatabaseQueue(database: Database, options: DatabaseQueueOptions = {}): RunQueue {
  const { now = Date.now } = options;
  const insertGrouped = groupInserts();
  const listeners = createListeners(database);
  const completions = groupCompletions(database);

  return {
    async enqueue(entry, transaction) {
      await insertGrouped(transaction ?? database.kysely, toRow(entry, now()));
      listeners.callAfter(transaction);
    },

    async enqueueLeased(entry, worker, transaction) {
      const lease = newLease(entry.traceId, worker, LEASE.durationMs);
      const held = { leased_by: worker, lease_token: lease.token, lease_until: now() + lease.leaseMs };
      await insertRows(transaction, [{ ...toRow(entry, now()), ...held }]);
      return lease;
    },

    async lease(worker, { leaseMs = LEASE.durationMs, filter = {}, limit = 1 } = {}) {
      const isPlayable = isTraceAdmitted(filter);
      const take: Take = (condition, most) =>
        takeFirst(database, { worker, leaseMs, limit: most }, now(), (entry) =>
          entry.and([condition(entry), isPlayable]),
        );
      if (!isSelective(filter)) return await take((entry) => isWaiting(entry, now()), limit);
      const lost = await take((entry) => entry.and([isLost(entry, now()), isEnvironmentAdmitted(filter)]), limit);
      return lost.length > 0 ? lost : await takeFromGroups(database, filter, take);
    },

    renew: (leases) => renewLeases(database, leases, now),

    // The renewal thread uses the machine's clock, so it is not used with a custom `now`.
    leaseAddress: options.now === undefined ? database.address : undefined,

    async complete(lease) {
      await completions.submit(lease);
    },

    async release(lease, transaction) {
      await (transaction ?? database.kysely)
        .updateTable('queue')
        .set({ leased_by: null, lease_token: null, lease_until: null, is_redelivered: 0 })
        .where('trace_id', '=', lease.traceId)
        .where('lease_token', '=', lease.token)
        .execute();
      listeners.callAfter(transaction);
    },

    async withdraw(traceId) {
      await database.kysely
        .deleteFrom('queue')
        .where('trace_id', '=', traceId)
        .where((row) => isWaiting(row, now()))
        .execute();
    },

    onEntry: listeners.add,

    counts: () => countEntries(database, now()),

    missing: (traceIds) => findMissing(database, traceIds),

    async close() {},
  };
}

type Condition = (queue: QueueExpression) => Expression<SqlBool>;
/** Leases up to `limit` of the first entries that match the condition. */
type Take = (condition: Condition, limit: number) => Promise<readonly Lease[]>;

function newLease(traceId: string, worker: string, leaseMs: number): Lease {
  return { traceId, worker, token: newId(), leaseMs, isRedelivered: false };
}

/** The first entries that match `condition`, each with its own lease. */
async function takeFirst(
  database: Database,
  { worker, leaseMs, limit }: { readonly worker: string; readonly leaseMs: number; readonly limit: number },
  now: number,
  condition: Condition,
): Promise<readonly Lease[]> {
  const prefix = newId();
  const taken = await database.kysely
    .with(
      // Without `materialized` Postgres may run this query for every row of a join, and take more entries each time.
      (name) => name('next').materialized(),
      (query) =>
        query
          .selectFrom('queue')
          .select('trace_id')
          .where(condition)
          .orderBy('priority', 'desc')
          .orderBy('enqueued_at')
          .orderBy('trace_id')
          .limit(limit)
          // SQLite has one writer at a time. On Postgres this skips entries that another worker is taking.
          .$if(database.kind === 'postgres', (next) => next.forUpdate('queue').skipLocked()),
    )
    .updateTable('queue')
    .set((row) => ({
      leased_by: worker,
      lease_token: sql<string>`${prefix} || ${row.ref('trace_id')}`,
      lease_until: now + leaseMs,
      is_redelivered: row.case().when('lease_until', 'is not', null).then(row.lit(1)).else(row.lit(0)).end(),
    }))
    .where('trace_id', 'in', (query) => query.selectFrom('next').select('trace_id'))
    .returning(['trace_id', 'is_redelivered', 'priority', 'enqueued_at'])
    .execute();
  return taken.toSorted(byTurn).map(({ trace_id: traceId, is_redelivered }) => {
    return { traceId, worker, token: `${prefix}${traceId}`, leaseMs, isRedelivered: is_redelivered === 1 };
  });
}

interface Turn {
  readonly trace_id: string;
  readonly priority: number;
  readonly enqueued_at: number;
}

/** The order of the queue. An update returns its rows in any order. */
function byTurn(one: Turn, other: Turn): number {
  if (one.priority !== other.priority) return other.priority - one.priority;
  if (one.enqueued_at !== other.enqueued_at) return one.enqueued_at - other.enqueued_at;
  return one.trace_id < other.trace_id ? -1 : 1;
}

/** Takes one entry, because the filter may exclude the next one of the same key. */
async function takeFromGroups(database: Database, filter: LeaseFilter, take: Take): Promise<readonly Lease[]> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const groups = await readGroups(database, filter);
    for (const group of groups) {
      const taken = await take((entry) => isOfGroup(entry, group), 1);
      if (taken.length > 0) return taken;
    }
    if (groups.length === 0) return [];
  }
  return [];
}

/** Combines the completions of one turn of the event loop into one statement. */
function groupCompletions({ kysely }: Database): GroupCommit<Lease, true> {
  return new GroupCommit(async (leases) => {
    const traceIds = leases.map(({ traceId }) => traceId);
    const tokens = leases.map(({ token }) => token);
    await kysely.deleteFrom('queue').where('trace_id', 'in', traceIds).where('lease_token', 'in', tokens).execute();
    return leases.map(() => true);
  });
}

async function countEntries({ kysely }: Database, now: number) {
  const { waiting, entries } = await kysely
    .selectFrom('queue')
    .select((row) => [
      row.fn.countAll<number>().filterWhere(isWaiting(row, now)).as('waiting'),
      row.fn.countAll<number>().as('entries'),
    ])
    .executeTakeFirstOrThrow();
  return { waiting: Number(waiting), leased: Number(entries) - Number(waiting) };
}

async function findMissing({ kysely }: Database, traceIds: readonly string[]): Promise<readonly string[]> {
  const missing = new Set(traceIds);
  for (let from = 0; from < traceIds.length; from += MAX_ASKED) {
    const asked = traceIds.slice(from, from + MAX_ASKED);
    const rows = await kysely.selectFrom('queue').select('trace_id').where('trace_id', 'in', asked).execute();
    for (const { trace_id } of rows) missing.delete(trace_id);
  }
  return [...missing];
}

/** Calls listeners of this process directly. Other processes get a hint, where the database supports hints. */
function createListeners(database: Database) {
  const listeners = new Set<() => void>();
  const call = () => {
    for (const listener of listeners) listener();
    database.hints?.send();
  };
  return {
    /** Calls the listeners after the commit, because the entry is not visible earlier. */
    callAfter(transaction: DatabaseTransaction | undefined): void {
      if (transaction === undefined) setImmediate(call);
      else afterCommit(transaction, () => setImmediate(call));
    },
    add(listener: () => void): () => void {
      const own = () => listener(); // A new function each time, so that one listener may be added twice.
      listeners.add(own);
      const stopHearing = database.hints?.hear(own);
      return () => {
        listeners.delete(own);
        stopHearing?.();
      };
    },
  };
}
