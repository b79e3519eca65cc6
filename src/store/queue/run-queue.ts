import type { DatabaseTransaction } from '../database/database.ts';

/**
 * Accepted runs that wait for a worker. The trace rows are authoritative: a queue can be rebuilt from the queued and
 * running ones. A lease holds an entry; when it is not renewed in time, the next worker may take the entry.
 */
export interface RunQueue {
  /**
   * Adds an entry; an existing one stays unchanged. With a transaction the entry is added when that commits, and never
   * after a rollback. In the same database both are one commit. Elsewhere the entry follows the commit; an entry that
   * gets lost on the way is reported by `missing`.
   */
  enqueue(entry: QueueEntry, transaction?: DatabaseTransaction): Promise<void>;
  /** Adds an entry that `worker` holds from the start, for a process that runs its own entries. */
  enqueueLeased(entry: QueueEntry, worker: string, transaction: DatabaseTransaction): Promise<Lease>;
  /**
   * Leases the next admitted entries (highest priority, then oldest) to `worker` for `leaseMs`: at most `limit`, by
   * default one. Some queues return fewer, one at a time. Empty when nothing is waiting.
   */
  lease(worker: string, options?: LeaseOptions): Promise<readonly Lease[]>;
  /** Extends each lease by `leaseMs`. @returns the leases that were lost: their holder has to stop. */
  renew(leases: readonly Lease[]): Promise<readonly Lease[]>;
  /**
   * The address of the database whose queue table has the leases, so that another thread can renew them. Absent when
   * this process has to renew them.
   */
  readonly leaseAddress?: string | undefined;
  /** Removes the entry of a finished run. */
  complete(lease: Lease): Promise<void>;
  /** Gives the entry back at once, for any worker. */
  release(lease: Lease, transaction?: DatabaseTransaction): Promise<void>;
  /** Removes an entry without a lease, when the run was ended elsewhere. A leased entry stays with its holder. */
  withdraw(traceId: string): Promise<void>;
  /**
   * Calls back when an entry may be waiting, at least once for each `enqueue` of this process, and for those of other
   * processes where the database supports hints. @returns a function that stops the calls.
   */
  onEntry(listener: () => void): () => void;
  /** Number of waiting and of leased entries. */
  counts(): Promise<{ readonly waiting: number; readonly leased: number }>;
  /** The ids among `traceIds` that have no entry. */
  missing(traceIds: readonly string[]): Promise<readonly string[]>;
  /** Closes its own connections. The owner of a shared database closes that. */
  close(): Promise<void>;
}

export interface QueueEntry {
  readonly traceId: string;
  /** 0 to 9; 9 comes first. */
  readonly priority: number;
  /** Environment and key, for filters. The key is null for a run without one. Default: those of the run's row. */
  readonly envName?: string;
  readonly keyId?: string | null;
}

export interface LeaseOptions {
  readonly leaseMs?: number;
  readonly filter?: LeaseFilter;
  readonly limit?: number;
}

/** Entries that a worker can take now. Excluded entries must not block the others. */
export interface LeaseFilter {
  /** Only these environments. Undefined means all. */
  readonly onlyEnvironments?: readonly string[];
  /** Environments that have reached their limit of runs in this process. */
  readonly exceptEnvironments?: readonly string[];
  /** Keys that have reached their limit of runs. An entry whose lease ran out is not excluded: it already counts. */
  readonly exceptKeys?: readonly string[];
  /** Only the runs of these traces. Undefined means all. */
  readonly onlyTraces?: readonly string[];
  /** Traces whose runs this worker cannot play. */
  readonly exceptTraces?: readonly string[];
}

export interface Lease {
  readonly traceId: string;
  readonly worker: string;
  /** Changes with every lease, so that a former holder cannot renew or complete the present lease. */
  readonly token: string;
  readonly leaseMs: number;
  /** True when an earlier lease of the entry ran out, so that its worker is presumed dead. */
  readonly isRedelivered: boolean;
}

/** A health check that fails when the queue does not answer. */
export function queueCheck(queue: RunQueue): { readonly name: string; failed(): Promise<readonly string[]> } {
  return { name: 'queue', failed: () => queue.counts().then(() => []) };
}

/** Milliseconds (contract section 3, "Durability"). */
export const LEASE = { durationMs: 10_000, renewEveryMs: 3_000 } as const;
