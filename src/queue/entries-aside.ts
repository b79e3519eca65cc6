import { afterCommit, type Database, type DatabaseTransaction } from '../database/database.ts';
import { createDatabaseQueue, toRow } from './database-queue.ts';
import type { Lease, LeaseFilter, QueueEntry, RunQueue } from './run-queue.ts';

/** An entry as it was taken from the queue that it came from. */
export interface EntryAside {
  readonly entry: QueueEntry;
  /** Milliseconds since 1970. */
  readonly enqueuedAt: number;
  readonly isRedelivered: boolean;
}

/**
 * Entries of a queue that cannot pass over what a worker may not take: such an entry is set aside once, into the queue of the
 * database, where passing it over costs nothing and every worker finds it. From there it is leased as any other.
 */
export class EntriesAside {
  readonly queue: RunQueue;
  readonly #database: Database;
  /** Leases of this process. */
  readonly #tokens = new Set<string>();

  constructor(database: Database) {
    this.#database = database;
    this.queue = createDatabaseQueue(database);
  }

  /** Durable when it resolves. One that is there stays as it is. */
  async add(entries: readonly EntryAside[]): Promise<void> {
    if (entries.length === 0) return;
    const rows = entries.map(({ entry, enqueuedAt, isRedelivered }) => ({
      ...toRow(entry, enqueuedAt),
      // As of a lease that ran out: the next one is told of it.
      lease_until: isRedelivered ? 0 : null,
    }));
    await this.#database.kysely
      .insertInto('queue')
      .values(rows)
      .onConflict((conflict) => conflict.column('trace_id').doNothing())
      .execute();
  }

  async lease(worker: string, options: { readonly leaseMs: number; readonly filter: LeaseFilter }) {
    const lease = await this.queue.lease(worker, options);
    if (lease !== undefined) this.#tokens.add(lease.token);
    return lease;
  }

  /** Whether the lease is of an entry here. */
  holds({ token }: Lease): boolean {
    return this.#tokens.has(token);
  }

  async renew(lease: Lease): Promise<boolean> {
    const isRenewed = await this.queue.renew(lease);
    if (!isRenewed) this.#tokens.delete(lease.token);
    return isRenewed;
  }

  async complete(lease: Lease): Promise<void> {
    await this.queue.complete(lease);
    this.#tokens.delete(lease.token);
  }

  /** The lease stays known where the release is undone; otherwise nothing is left that it could touch. */
  async release(lease: Lease, transaction?: DatabaseTransaction): Promise<void> {
    await this.queue.release(lease, transaction);
    if (transaction === undefined) this.#tokens.delete(lease.token);
    else afterCommit(transaction, () => this.#tokens.delete(lease.token));
  }
}
