import { randomBytes } from 'node:crypto';
import { type Expression, type SqlBool, sql } from 'kysely';
import { afterCommit, type Database, type DatabaseTransaction } from '../database/database.ts';
import { GroupCommit } from '../database/group-commit.ts';
import { isEnvironmentAdmitted, isOfGroup, isSelective, readGroups } from './entry-groups.ts';
import { groupInserts, insertRows, isLost, isWaiting, type QueueExpression, toRow } from './queue-rows.ts';
import { renewLeases } from './renew-leases.ts';
import { LEASE, type Lease, type LeaseFilter, type RunQueue } from './run-queue.ts';

/** Entries that one statement asks for. */
const MAX_ASKED = 500;

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
      const take: Take = (condition, most) => takeFirst(database, { worker, leaseMs, limit: most }, now(), condition);
      if (!isSelective(filter)) return await take((entry) => isWaiting(entry, now()), limit);
      const lost = await take((entry) => entry.and([isLost(entry, now()), isEnvironmentAdmitted(filter)]), limit);
      return lost.length > 0 ? lost : await takeFromGroups(database, filter, take);
    },

    renew: (leases) => renewLeases(database, leases, now),

    // A thread reads the clock of the machine.
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
/** Leases the first entries for which the condition holds, at most so many. */
type Take = (condition: Condition, limit: number) => Promise<readonly Lease[]>;

function newLease(traceId: string, worker: string, leaseMs: number): Lease {
  return { traceId, worker, token: randomBytes(16).toString('hex'), leaseMs, isRedelivered: false };
}

/** The first entries for which `condition` holds, each with a lease of its own. */
async function takeFirst(
  database: Database,
  { worker, leaseMs, limit }: { readonly worker: string; readonly leaseMs: number; readonly limit: number },
  now: number,
  condition: Condition,
): Promise<readonly Lease[]> {
  const prefix = randomBytes(16).toString('hex');
  const taken = await database.kysely
    .updateTable('queue')
    .set((row) => ({
      leased_by: worker,
      lease_token: sql<string>`${prefix} || ${row.ref('trace_id')}`,
      lease_until: now + leaseMs,
      is_redelivered: row.case().when('lease_until', 'is not', null).then(row.lit(1)).else(row.lit(0)).end(),
    }))
    .where('trace_id', 'in', (queue) =>
      queue
        .selectFrom('queue')
        .select('trace_id')
        .where(condition)
        .orderBy('priority', 'desc')
        .orderBy('enqueued_at')
        .orderBy('trace_id')
        .limit(limit)
        // SQLite has one writer at a time; on Postgres one that is being taken is left to whoever takes it.
        .$if(database.kind === 'postgres', (next) => next.forUpdate('queue').skipLocked()),
    )
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

/** An update returns its rows in any order. */
function byTurn(one: Turn, other: Turn): number {
  if (one.priority !== other.priority) return other.priority - one.priority;
  if (one.enqueued_at !== other.enqueued_at) return one.enqueued_at - other.enqueued_at;
  return one.trace_id < other.trace_id ? -1 : 1;
}

/** One entry: a filter may hold back the next one of its key. */
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

/** Completions of one turn of the event loop are one statement. */
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

/** Those of this process are called directly; other processes get a hint where the database passes hints on. */
function createListeners(database: Database) {
  const listeners = new Set<() => void>();
  const call = () => {
    for (const listener of listeners) listener();
    database.hints?.send();
  };
  return {
    /** Before the commit nobody could see the entry. */
    callAfter(transaction: DatabaseTransaction | undefined): void {
      if (transaction === undefined) setImmediate(call);
      else afterCommit(transaction, () => setImmediate(call));
    },
    add(listener: () => void): () => void {
      const own = () => listener(); // one function may listen twice
      listeners.add(own);
      const stopHearing = database.hints?.hear(own);
      return () => {
        listeners.delete(own);
        stopHearing?.();
      };
    },
  };
}
