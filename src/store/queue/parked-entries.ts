import { afterCommit, type Database, type DatabaseTransaction } from '../database/database.ts';
import { createDatabaseQueue } from './database-queue.ts';
import { insertRows, toRow } from './queue-rows.ts';
import type { Lease, LeaseFilter, QueueEntry, RunQueue } from './run-queue.ts';

/** An entry from its first queue. */
export interface ParkedEntry {
  readonly entry: QueueEntry;
  /** Milliseconds since 1970. */
  readonly enqueuedAt: number;
  readonly isRedelivered: boolean;
}

/**
 * Waiting entries of a queue that cannot skip entries. They are moved once to the queue table of the database, where
 * skipping costs nothing and every worker finds them. From there they are leased like other entries.
 */
export class ParkedEntries {
  readonly queue: RunQueue;
  readonly #database: Database;
  /** Tokens of the leases that this process holds. */
  readonly #tokens = new Set<string>();

  constructor(database: Database) {
    this.#database = database;
    this.queue = createDatabaseQueue(database);
  }

  /** Resolves when the entries are durable. An entry that is already parked stays unchanged. */
  async add(entries: readonly ParkedEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const rows = entries.map(({ entry, enqueuedAt, isRedelivered }) => ({
      ...toRow(entry, enqueuedAt),
      // A lease that has already expired marks the next lease as redelivered.
      lease_until: isRedelivered ? 0 : null,
    }));
    await insertRows(this.#database.kysely, rows);
  }

  async lease(worker: string, options: { readonly leaseMs: number; readonly filter: LeaseFilter }) {
    const leases = await this.queue.lease(worker, options);
    for (const { token } of leases) this.#tokens.add(token);
    return leases;
  }

  /** True when the lease belongs to a parked entry. */
  holds({ token }: Lease): boolean {
    return this.#tokens.has(token);
  }

  /** @returns the leases that were lost. */
  async renew(leases: readonly Lease[]): Promise<readonly Lease[]> {
    const lost = await this.queue.renew(leases);
    for (const { token } of lost) this.#tokens.delete(token);
    return lost;
  }

  async complete(lease: Lease): Promise<void> {
    await this.queue.complete(lease);
    this.#tokens.delete(lease.token);
  }

  /** Gives the entry back. After a rollback the lease stays valid. */
  async release(lease: Lease, transaction?: DatabaseTransaction): Promise<void> {
    await this.queue.release(lease, transaction);
    if (transaction === undefined) this.#tokens.delete(lease.token);
    else afterCommit(transaction, () => this.#tokens.delete(lease.token));
  }
}
