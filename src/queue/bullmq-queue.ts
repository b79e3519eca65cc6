import { randomBytes } from 'node:crypto';
import type { Job } from 'bullmq';
import { afterCommit, type Database, type DatabaseTransaction } from '../database/database.ts';
import { type BullBackend, type BullBackendOptions, openBullBackend, type RunJob, within } from './bullmq-backend.ts';
import { LEASE, type Lease, type LeaseFilter, type QueueEntry, type RunQueue } from './run-queue.ts';

export interface BullQueueOptions extends BullBackendOptions {
  /** Of the traces: what a filter looks at. */
  readonly database: Database;
}

/** Jobs of one command; more make the next one. */
const MAX_BATCH = 500;
/** Entries that a filter does not let through wait this long aside, so that those behind them are seen. */
const ASIDE_MS = 1_000;
/** Entries that one call of `lease` looks at. */
const MAX_LOOKED_AT = 50;
/** Existence of so many jobs is asked for at once. */
const MAX_ASKED = 100;

/**
 * The queue as BullMQ has it, on Redis or on Postgres, for workers on many machines. A job is never part of the run's
 * commit: it follows it, many in one command, and the sweep enqueues the runs whose job got lost on the way.
 *
 * @throws Error that says what to do, where nothing answers at the address.
 */
export async function openBullQueue(options: BullQueueOptions): Promise<RunQueue> {
  const { leaseMs = LEASE.durationMs } = options;
  return new BullRunQueue(await openBullBackend({ ...options, leaseMs }), options.database, leaseMs);
}

type Taken = { readonly job: Job<RunJob>; readonly isHeld: boolean };

interface Addition {
  readonly entry: QueueEntry;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

class BullRunQueue implements RunQueue {
  readonly #bull: BullBackend;
  readonly #database: Database;
  readonly #leaseMs: number;
  readonly #listeners = new Set<() => void>();
  /** What this process holds, by token. */
  readonly #taken = new Map<string, Taken>();
  /** What follows a commit and is not done yet: whoever takes an entry waits for it. */
  readonly #following = new Set<Promise<unknown>>();
  #additions: Addition[] = [];
  #checking: Promise<void> | undefined;

  constructor(bull: BullBackend, database: Database, leaseMs: number) {
    this.#bull = bull;
    this.#database = database;
    this.#leaseMs = leaseMs;
  }

  async enqueue(entry: QueueEntry, transaction?: DatabaseTransaction): Promise<void> {
    if (transaction === undefined) return await this.#add(entry);
    afterCommit(transaction, () => this.#follow(() => this.#add(entry)));
  }

  /**
   * As a job that is delayed for as long as the lease lasts, which a renewal puts off: when its holder dies it comes
   * due, and is anybody's.
   */
  async enqueueLeased(entry: QueueEntry, worker: string, transaction: DatabaseTransaction): Promise<Lease> {
    const lease: Lease = { ...newLease(worker, this.#leaseMs), traceId: entry.traceId, isRedelivered: false };
    afterCommit(transaction, () =>
      this.#follow(async () => {
        const options = { ...toOptions(entry), delay: lease.leaseMs };
        const job = await within(this.#bull.queue.add('run', { isHeld: true }, options));
        this.#taken.set(lease.token, { job, isHeld: true });
      }),
    );
    return lease;
  }

  async lease(
    worker: string,
    { leaseMs = this.#leaseMs, filter }: { readonly leaseMs?: number; readonly filter?: LeaseFilter } = {},
  ): Promise<Lease | undefined> {
    this.#checking ??= this.#bull.worker.startStalledCheckTimer();
    await this.#settled();
    for (let looked = 0; looked < MAX_LOOKED_AT; looked++) {
      const { token } = newLease(worker, leaseMs);
      const job = await within(this.#bull.worker.getNextJob(token, { block: false }));
      if (job === undefined || job === null) return undefined;
      const isRedelivered = (job.stalledCounter ?? 0) > (job.data.forgiven ?? 0) || job.data.isHeld === true;
      const traceId = toTraceId(job);
      if (!(await this.#isLetThrough(traceId, isRedelivered, filter))) {
        await within(job.moveToDelayed(Date.now() + ASIDE_MS, token));
        continue;
      }
      if (leaseMs !== this.#leaseMs) await within(job.extendLock(token, leaseMs));
      this.#taken.set(token, { job, isHeld: false });
      return { traceId, worker, token, leaseMs, isRedelivered };
    }
    return undefined;
  }

  async renew(lease: Lease): Promise<boolean> {
    await this.#settled();
    const taken = this.#taken.get(lease.token);
    if (taken === undefined) return false;
    const isRenewed = await isOurs(async () => {
      if (!taken.isHeld) return (await within(taken.job.extendLock(lease.token, lease.leaseMs))) > 0;
      await within(taken.job.changeDelay(lease.leaseMs));
      return true;
    });
    if (!isRenewed) this.#taken.delete(lease.token);
    return isRenewed;
  }

  async complete(lease: Lease): Promise<void> {
    await this.#settled();
    const taken = this.#taken.get(lease.token);
    if (taken === undefined) return;
    await isOurs(async () => {
      if (taken.isHeld) await within(taken.job.remove());
      else await within(taken.job.moveToCompleted(null, lease.token, false));
    });
    this.#taken.delete(lease.token);
  }

  async release(lease: Lease, transaction?: DatabaseTransaction): Promise<void> {
    if (transaction !== undefined) {
      const before = [...this.#following]; // Among them may be what added it.
      return afterCommit(transaction, () => this.#follow(() => Promise.all(before).then(() => this.#release(lease))));
    }
    await this.#settled();
    await this.#release(lease);
  }

  async withdraw(traceId: string): Promise<void> {
    await this.#settled();
    const job: Job<RunJob> | undefined = await within(this.#bull.queue.getJob(toJobId(traceId)));
    if (job === undefined || job.data.isHeld === true) return;
    // BullMQ refuses it for a job that somebody holds.
    if ((await within(job.getState())) !== 'active') await isOurs(() => within(job.remove()));
  }

  onEntry(listener: () => void): () => void {
    const own = () => listener(); // one function may listen twice
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  async counts(): Promise<{ readonly waiting: number; readonly leased: number }> {
    await this.#settled();
    const counts = await within(this.#bull.queue.getJobCounts('wait', 'prioritized', 'delayed', 'active'));
    const held = [...this.#taken.values()].filter(({ isHeld }) => isHeld).length;
    const { wait = 0, prioritized = 0, delayed = 0, active = 0 } = counts;
    return { waiting: wait + prioritized + Math.max(0, delayed - held), leased: active + Math.min(held, delayed) };
  }

  async missing(traceIds: readonly string[]): Promise<readonly string[]> {
    await this.#settled();
    const missing: string[] = [];
    for (let from = 0; from < traceIds.length; from += MAX_ASKED) {
      const asked = traceIds.slice(from, from + MAX_ASKED);
      const states = Promise.all(asked.map((traceId) => this.#bull.queue.getJobState(toJobId(traceId))));
      for (const [index, state] of (await within(states)).entries()) {
        const traceId = asked[index];
        if (state === 'unknown' && traceId !== undefined) missing.push(traceId);
      }
    }
    return missing;
  }

  async close(): Promise<void> {
    await this.#settled();
    await this.#bull.close();
  }

  #add(entry: QueueEntry): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#additions.push({ entry, resolve, reject });
      if (this.#additions.length === 1) setImmediate(() => void this.#addAll());
    });
  }

  /** A job that is there already stays as it is: its holder must not lose it to a sweep. */
  async #addAll(): Promise<void> {
    const batch = this.#additions.splice(0, MAX_BATCH);
    if (this.#additions.length > 0) setImmediate(() => void this.#addAll());
    try {
      const jobs = batch.map(({ entry }) => ({ name: 'run', data: {}, opts: toOptions(entry) }));
      await within(this.#bull.queue.addBulk(jobs));
      for (const { resolve } of batch) resolve();
      this.#announce();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  async #release(lease: Lease): Promise<void> {
    const taken = this.#taken.get(lease.token);
    if (taken === undefined) return;
    const { job, isHeld } = taken;
    this.#taken.delete(lease.token);
    await isOurs(async () => {
      // First, while it is ours: what was given back is no redelivery.
      if ((await within(this.#bull.queue.getJob(job.id ?? ''))) === undefined) return;
      if (isHeld) {
        await within(job.updateData({}));
        await within(job.promote());
      } else if ((await within(job.extendLock(lease.token, lease.leaseMs))) > 0) {
        await within(job.updateData({ forgiven: job.stalledCounter ?? 0 }));
        await within(job.moveToWait(lease.token));
      }
    });
    setImmediate(() => this.#announce());
  }

  /** What cannot follow is found by the sweep, or comes back when its lease runs out: the commit stands. */
  #follow(step: () => Promise<void>): void {
    const following = step()
      .catch((error: unknown) => process.emitWarning(error instanceof Error ? error : new Error(String(error))))
      .finally(() => this.#following.delete(following));
    this.#following.add(following);
  }

  async #settled(): Promise<void> {
    while (this.#following.size > 0) await Promise.all(this.#following);
  }

  #announce(): void {
    for (const listener of this.#listeners) listener();
  }

  async #isLetThrough(traceId: string, isRedelivered: boolean, filter: LeaseFilter = {}): Promise<boolean> {
    const { onlyEnvironments, exceptEnvironments = [], exceptKeys = [] } = filter;
    if (onlyEnvironments === undefined && exceptEnvironments.length + exceptKeys.length === 0) return true;
    const run = await this.#database.kysely
      .selectFrom('traces')
      .select(['env_name', 'key_id'])
      .where('trace_id', '=', traceId)
      .executeTakeFirst();
    if (run === undefined) return true; // Deleted: whoever takes it finds that out, and the job is gone.
    if (onlyEnvironments?.includes(run.env_name) === false || exceptEnvironments.includes(run.env_name)) return false;
    return run.key_id === null || isRedelivered || !exceptKeys.includes(run.key_id);
  }
}

/** Whether a step on a job was ours to take; BullMQ refuses it by a number below 0 when the lease is another's. */
async function isOurs(step: () => Promise<unknown>): Promise<boolean> {
  try {
    return (await step()) !== false;
  } catch (error) {
    if (error instanceof Error && 'code' in error && typeof error.code === 'number' && error.code < 0) return false;
    throw error;
  }
}

function newLease(worker: string, leaseMs: number) {
  return { worker, token: randomBytes(16).toString('hex'), leaseMs };
}

/** BullMQ takes ids of digits alone for its own, and a trace id may be one. */
function toJobId(traceId: string): string {
  return `run-${traceId}`;
}

function toTraceId(job: Job<RunJob>): string {
  return (job.id ?? '').replace(/^run-/, '');
}

/** BullMQ's first priority is 1, and those without one come before all others. */
function toOptions({ traceId, priority }: QueueEntry) {
  return { jobId: toJobId(traceId), priority: 10 - priority, removeOnComplete: true, removeOnFail: true };
}
