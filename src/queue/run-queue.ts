import type { DatabaseTransaction } from '../database/database.ts';

/**
 * Accepted runs, waiting for a worker. The trace rows are the truth: a queue can be rebuilt from those that are queued
 * or running. An entry is held by a lease; one that is not renewed in time is given to the next worker that asks.
 */
export interface RunQueue {
  /**
   * Adds an entry; one that is there stays as it is. With a transaction: when it is committed, and never when it is
   * undone. Where the queue is in the same database both are one commit; elsewhere the entry follows, and one that got
   * lost on the way is `missing`.
   */
  enqueue(entry: QueueEntry, transaction?: DatabaseTransaction): Promise<void>;
  /** Adds an entry that `worker` holds from the start: for a process that runs what it enqueues. */
  enqueueLeased(entry: QueueEntry, worker: string, transaction: DatabaseTransaction): Promise<Lease>;
  /**
   * The next entries (highest priority, then oldest) that the filter lets through, now held by `worker` for `leaseMs`: at
   * most `limit`, by default one, and fewer where a queue gives them one by one. Empty where there is none.
   */
  lease(worker: string, options?: LeaseOptions): Promise<readonly Lease[]>;
  /** Holds each for another `leaseMs`. @returns those that were lost: their holder has to stop. */
  renew(leases: readonly Lease[]): Promise<readonly Lease[]>;
  /**
   * The address of a database whose queue table has the leases, so that another thread can renew them. Absent where this
   * process has to.
   */
  readonly leaseAddress?: string | undefined;
  /** Takes the entry out: the run has its final state. */
  complete(lease: Lease): Promise<void>;
  /** Gives the entry back at once, for any worker. */
  release(lease: Lease, transaction?: DatabaseTransaction): Promise<void>;
  /** Takes an entry out that nobody holds: its run was ended by somebody else. One that is held stays with its holder. */
  withdraw(traceId: string): Promise<void>;
  /**
   * Calls back when an entry may be waiting, at least once for each `enqueue` of this process; those of others are heard
   * of where the database passes hints on. Returns the way to stop.
   */
  onEntry(listener: () => void): () => void;
  /** Entries that wait and entries that are held. */
  counts(): Promise<{ readonly waiting: number; readonly leased: number }>;
  /** Those of the traces that have no entry. */
  missing(traceIds: readonly string[]): Promise<readonly string[]>;
  /** Ends its connections; a database that it shares is its owner's to close. */
  close(): Promise<void>;
}

export interface QueueEntry {
  readonly traceId: string;
  /** 0 to 9, 9 first. */
  readonly priority: number;
  /** Environment and key, for filters; the key is null for a run without one. Left out: read from the run's row. */
  readonly envName?: string;
  readonly keyId?: string | null;
}

export interface LeaseOptions {
  readonly leaseMs?: number;
  readonly filter?: LeaseFilter;
  readonly limit?: number;
}

/** Which entries a worker can take now. Those that it cannot must not keep others from being taken. */
export interface LeaseFilter {
  /** Only these environments; undefined: all. */
  readonly onlyEnvironments?: readonly string[];
  /** Environments that have as many runs here as they may. */
  readonly exceptEnvironments?: readonly string[];
  /** Keys that have as many runs as they may. An entry whose lease ran out is taken all the same: it has its place. */
  readonly exceptKeys?: readonly string[];
}

export interface Lease {
  readonly traceId: string;
  readonly worker: string;
  /** Changes with every lease, so that a holder whose lease was lost cannot renew or complete the next one's. */
  readonly token: string;
  readonly leaseMs: number;
  /** True when an earlier lease of this entry ran out: its worker is taken for dead. */
  readonly isRedelivered: boolean;
}

/** Whether the queue answers. */
export function queueCheck(queue: RunQueue): { readonly name: string; failed(): Promise<readonly string[]> } {
  return { name: 'queue', failed: () => queue.counts().then(() => []) };
}

/** Milliseconds (contract section 3, "Durability"). */
export const LEASE = { durationMs: 10_000, renewEveryMs: 3_000 } as const;
