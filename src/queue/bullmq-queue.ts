import { randomBytes } from 'node:crypto';
import type { Job } from 'bullmq';
import { afterCommit, type Database, type DatabaseTransaction } from '../database/database.ts';
import { type BullBackend, type BullBackendOptions, openBullBackend, within } from './bullmq-backend.ts';
import { isRedelivered, type RunJob, toEntry, toJobData, toJobId, toJobOptions, toTraceId } from './bullmq-job.ts';
import { EntriesAside } from './entries-aside.ts';
import { isSelective } from './queue-lanes.ts';
import { LEASE, type Lease, type LeaseFilter, type QueueEntry, type RunQueue } from './run-queue.ts';

export interface BullQueueOptions extends BullBackendOptions {
  /** Of the traces: it keeps the entries that have to wait, so that those behind them are seen. */
  readonly database: Database;
}

/** Jobs of one command; more make the next one. */
const MAX_BATCH = 500;
/** Jobs that are set aside together: where one has to wait, many behind it have to as a rule. */
const ASIDE_BATCH = 20;
/** How long one call of `lease` sets jobs aside, in milliseconds; then it is asked once more. */
const LOOK_FOR_MS = 500;
/** How often a worker that may take everything looks for what others have set aside, in milliseconds. */
const LOOK_ASIDE_EVERY_MS = 1_000;
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
type LockedJob = { readonly job: Job<RunJob>; readonly token: string };

interface Addition {
  readonly entry: QueueEntry;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

class BullRunQueue implements RunQueue {
  readonly #bull: BullBackend;
  readonly #leaseMs: number;
  readonly #listeners = new Set<() => void>();
  /** What this process holds, by token. */
  readonly #taken = new Map<string, Taken>();
  /** What follows a commit and is not done yet: whoever takes an entry waits for it. */
  readonly #following = new Set<Promise<unknown>>();
  readonly #aside: EntriesAside;
  /** When a worker that may take everything looks there again, by the clock of `performance`. */
  #nextLookAside = 0;
  #additions: Addition[] = [];
  #checking: Promise<void> | undefined;

  constructor(bull: BullBackend, database: Database, leaseMs: number) {
    this.#bull = bull;
    this.#leaseMs = leaseMs;
    this.#aside = new EntriesAside(database);
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
        const options = { ...toJobOptions(entry), delay: lease.leaseMs };
        const job = await within(this.#bull.queue.add('run', { ...toJobData(entry), isHeld: true }, options));
        this.#taken.set(lease.token, { job, isHeld: true });
      }),
    );
    return lease;
  }

  async lease(
    worker: string,
    { leaseMs = this.#leaseMs, filter = {} }: { readonly leaseMs?: number; readonly filter?: LeaseFilter } = {},
  ): Promise<Lease | undefined> {
    this.#checking ??= this.#bull.worker.startStalledCheckTimer();
    await this.#settled();
    const waiting = await this.#leaseAside(worker, leaseMs, filter);
    if (waiting !== undefined) return waiting;
    for (const endsAt = performance.now() + LOOK_FOR_MS; performance.now() < endsAt; ) {
      const next = await this.#next();
      if (next === undefined) return undefined;
      if (isLetThrough(next.job, filter)) return await this.#hold(next, worker, leaseMs);
      const behind = await Promise.all(Array.from({ length: ASIDE_BATCH - 1 }, () => this.#next()));
      await this.#setAside([next, ...behind.filter((each) => each !== undefined)]);
      const among = await this.#leaseAside(worker, leaseMs, filter);
      if (among !== undefined) return among;
    }
    // There is more: a worker that goes on asks again at once, and one that stops does not.
    setImmediate(() => this.#announce());
    return undefined;
  }

  async renew(lease: Lease): Promise<boolean> {
    if (this.#aside.holds(lease)) return await this.#aside.renew(lease);
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
    if (this.#aside.holds(lease)) return await this.#aside.complete(lease);
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
    if (this.#aside.holds(lease)) return await this.#aside.release(lease, transaction);
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
    await this.#aside.queue.withdraw(traceId);
    if (job === undefined || job.data.isHeld === true) return;
    // BullMQ refuses it for a job that somebody holds.
    if ((await within(job.getState())) !== 'active') await isOurs(() => within(job.remove()));
  }

  onEntry(listener: () => void): () => void {
    const own = () => listener(); // one function may listen twice
    this.#listeners.add(own);
    const stopAside = this.#aside.queue.onEntry(own);
    return () => {
      this.#listeners.delete(own);
      stopAside();
    };
  }

  async counts(): Promise<{ readonly waiting: number; readonly leased: number }> {
    await this.#settled();
    const counts = await within(this.#bull.queue.getJobCounts('wait', 'prioritized', 'delayed', 'active'));
    const held = [...this.#taken.values()].filter(({ isHeld }) => isHeld).length;
    const { wait = 0, prioritized = 0, delayed = 0, active = 0 } = counts;
    const aside = await this.#aside.queue.counts();
    return {
      waiting: wait + prioritized + Math.max(0, delayed - held) + aside.waiting,
      leased: active + Math.min(held, delayed) + aside.leased,
    };
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
    // Asked last: what is set aside is there before its job is gone.
    return await this.#aside.queue.missing(missing);
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
      const jobs = batch.map(({ entry }) => ({ name: 'run', data: toJobData(entry), opts: toJobOptions(entry) }));
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
        await within(job.updateData({ ...job.data, isHeld: false }));
        await within(job.promote());
      } else if ((await within(job.extendLock(lease.token, lease.leaseMs))) > 0) {
        await within(job.updateData({ ...job.data, forgiven: job.stalledCounter ?? 0 }));
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

  /** The first job, locked; one whose entry is aside already is none. */
  async #next(): Promise<LockedJob | undefined> {
    for (;;) {
      const token = newToken();
      const job = await within(this.#bull.worker.getNextJob(token, { block: false }));
      if (job === undefined || job === null) return undefined;
      // Whoever set it aside died before the job was gone.
      if (!isRedelivered(job) || (await this.#aside.queue.missing([toTraceId(job)])).length > 0) return { job, token };
      await isOurs(() => within(job.moveToCompleted(null, token, false)));
    }
  }

  async #hold({ job, token }: LockedJob, worker: string, leaseMs: number): Promise<Lease> {
    if (leaseMs !== this.#leaseMs) await within(job.extendLock(token, leaseMs));
    this.#taken.set(token, { job, isHeld: false });
    return { traceId: toTraceId(job), worker, token, leaseMs, isRedelivered: isRedelivered(job) };
  }

  /** First there, then gone here: what is in both for a moment is in none at no time. */
  async #setAside(jobs: readonly LockedJob[]): Promise<void> {
    const entries = jobs.map(({ job }) => ({
      entry: toEntry(job),
      enqueuedAt: job.timestamp,
      isRedelivered: isRedelivered(job),
    }));
    await this.#aside.add(entries);
    this.#nextLookAside = 0;
    await Promise.all(jobs.map(({ job, token }) => isOurs(() => within(job.moveToCompleted(null, token, false)))));
  }

  async #leaseAside(worker: string, leaseMs: number, filter: LeaseFilter): Promise<Lease | undefined> {
    if (!isSelective(filter) && performance.now() < this.#nextLookAside) return undefined;
    const lease = await this.#aside.lease(worker, { leaseMs, filter });
    if (lease === undefined && !isSelective(filter)) this.#nextLookAside = performance.now() + LOOK_ASIDE_EVERY_MS;
    return lease;
  }
}

/** By what the job says of its run; one of before it did is set aside, where its row is asked. */
function isLetThrough(job: Job<RunJob>, filter: LeaseFilter): boolean {
  if (!isSelective(filter)) return true;
  const { envName, keyId } = job.data;
  if (envName === undefined || keyId === undefined) return false;
  const { onlyEnvironments, exceptEnvironments = [], exceptKeys = [] } = filter;
  if (onlyEnvironments?.includes(envName) === false || exceptEnvironments.includes(envName)) return false;
  return keyId === null || isRedelivered(job) || !exceptKeys.includes(keyId);
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
  return { worker, token: newToken(), leaseMs };
}

function newToken(): string {
  return randomBytes(16).toString('hex');
}
