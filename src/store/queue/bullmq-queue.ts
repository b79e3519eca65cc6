import type { Job } from 'bullmq';
import { newId } from '../../support/runtime/new-id.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { afterCommit, type Database, type DatabaseTransaction } from '../database/database.ts';
import { type BullBackend, type BullBackendOptions, openBullBackend, within } from './bullmq-backend.ts';
import { isRedelivered, type RunJob, toEntry, toJobData, toJobId, toJobOptions, toTraceId } from './bullmq-job.ts';
import { isSelective } from './entry-groups.ts';
import { ParkedEntries } from './parked-entries.ts';
import { LEASE, type Lease, type LeaseFilter, type LeaseOptions, type QueueEntry, type RunQueue } from './run-queue.ts';

export interface BullQueueOptions extends BullBackendOptions {
  /** The database of the traces. Entries that have to wait are parked there, so that later entries can be taken. */
  readonly database: Database;
}

/** Largest number of jobs in one `addBulk`. The others follow in the next. */
const MAX_BATCH = 500;
/** Number of jobs to park together. When one job has to wait, usually many behind it do too. */
const PARK_BATCH = 20;
/** Milliseconds that one call of `lease` spends on parking jobs. */
const LOOK_FOR_MS = 500;
const MAX_ASKED = 100;

/**
 * BullMQ's queue on Redis, for workers on many machines. A job is added after the commit of its run, many jobs in one
 * command. The sweep adds jobs that got lost in between.
 *
 * @throws Error that says what to do when the address does not answer.
 */
export async function openBullQueue(options: BullQueueOptions): Promise<RunQueue> {
  const { leaseMs = LEASE.durationMs } = options;
  return new BullRunQueue(await openBullBackend({ ...options, leaseMs }), options.database, leaseMs);
}

type HeldJob = { readonly job: Job<RunJob>; readonly isHeld: boolean };
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
  /** Jobs that this process holds, by lease token. */
  readonly #taken = new Map<string, HeldJob>();
  /** Pending steps that follow a commit. `lease` and other calls wait for them. */
  readonly #following = new Set<Promise<unknown>>();
  readonly #parked: ParkedEntries;
  /** The next time at which a worker without limits looks for parked entries, by `performance.now()`. */
  #nextParkedLook = 0;
  #additions: Addition[] = [];
  #checking: Promise<void> | undefined;

  constructor(bull: BullBackend, database: Database, leaseMs: number) {
    this.#bull = bull;
    this.#leaseMs = leaseMs;
    this.#parked = new ParkedEntries(database);
  }

  async enqueue(entry: QueueEntry, transaction?: DatabaseTransaction): Promise<void> {
    if (transaction === undefined) return await this.#add(entry);
    afterCommit(transaction, () => this.#follow(() => this.#add(entry)));
  }

  /**
   * Adds a job that is delayed by the length of the lease. A renewal extends the delay. After the death of its holder
   * the job becomes due, and any worker may take it.
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

  async lease(worker: string, options: LeaseOptions = {}): Promise<readonly Lease[]> {
    const { leaseMs = this.#leaseMs, filter = {} } = options;
    this.#checking ??= this.#bull.worker.startStalledCheckTimer();
    await this.#settled();
    const waiting = await this.#leaseParked(worker, leaseMs, filter);
    if (waiting.length > 0) return waiting;
    for (const endsAt = performance.now() + LOOK_FOR_MS; performance.now() < endsAt; ) {
      const next = await this.#next();
      if (next === undefined) return [];
      if (isAdmitted(next.job, filter)) return [await this.#hold(next, worker, leaseMs)];
      const behind = await Promise.all(Array.from({ length: PARK_BATCH - 1 }, () => this.#next()));
      await this.#park([next, ...behind.filter((each) => each !== undefined)]);
      const among = await this.#leaseParked(worker, leaseMs, filter);
      if (among.length > 0) return among;
    }
    // More jobs are waiting: wake the workers of this process, but leave this call.
    setImmediate(() => this.#announce());
    return [];
  }

  async renew(leases: readonly Lease[]): Promise<readonly Lease[]> {
    await this.#settled();
    const parked = leases.filter((lease) => this.#parked.holds(lease));
    const ours = leases.filter((lease) => !parked.includes(lease));
    const renewed = await Promise.all(ours.map((lease) => this.#renew(lease)));
    return [...(await this.#parked.renew(parked)), ...ours.filter((_, index) => renewed[index] === false)];
  }

  async #renew(lease: Lease): Promise<boolean> {
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
    if (this.#parked.holds(lease)) return await this.#parked.complete(lease);
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
    if (this.#parked.holds(lease)) return await this.#parked.release(lease, transaction);
    if (transaction !== undefined) {
      const before = [...this.#following]; // The step that added the job may be among these.
      return afterCommit(transaction, () => this.#follow(() => Promise.all(before).then(() => this.#release(lease))));
    }
    await this.#settled();
    await this.#release(lease);
  }

  async withdraw(traceId: string): Promise<void> {
    await this.#settled();
    const job: Job<RunJob> | undefined = await within(this.#bull.queue.getJob(toJobId(traceId)));
    await this.#parked.queue.withdraw(traceId);
    if (job === undefined || job.data.isHeld === true) return;
    // BullMQ refuses to remove a job that a worker holds.
    if ((await within(job.getState())) !== 'active') await isOurs(() => within(job.remove()));
  }

  onEntry(listener: () => void): () => void {
    const own = () => listener(); // A new function each time, so that one listener may be added twice.
    this.#listeners.add(own);
    const stopParked = this.#parked.queue.onEntry(own);
    return () => {
      this.#listeners.delete(own);
      stopParked();
    };
  }

  async counts(): Promise<{ readonly waiting: number; readonly leased: number }> {
    await this.#settled();
    const counts = await within(this.#bull.queue.getJobCounts('wait', 'prioritized', 'delayed', 'active'));
    const held = [...this.#taken.values()].filter(({ isHeld }) => isHeld).length;
    const { wait = 0, prioritized = 0, delayed = 0, active = 0 } = counts;
    const parked = await this.#parked.queue.counts();
    return {
      waiting: wait + prioritized + Math.max(0, delayed - held) + parked.waiting,
      leased: active + Math.min(held, delayed) + parked.leased,
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
    // Parked entries are checked last, because an entry is parked before its job is removed.
    return await this.#parked.queue.missing(missing);
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

  /** Adds all waiting jobs. An existing job stays unchanged: its holder must not lose it to a sweep. */
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
      // The job is still ours, so record first that giving it back is not a redelivery.
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

  /** Runs a step after a commit. A failure only warns: the sweep or an expired lease recovers the run. */
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

  /** The first job, locked. A job whose entry is parked already is removed and skipped. */
  async #next(): Promise<LockedJob | undefined> {
    for (;;) {
      const token = newToken();
      const job = await within(this.#bull.worker.getNextJob(token, { block: false }));
      if (job === undefined || job === null) return undefined;
      // The entry is parked already. Its worker died before it removed the job.
      if (!isRedelivered(job) || (await this.#parked.queue.missing([toTraceId(job)])).length > 0) return { job, token };
      await isOurs(() => within(job.moveToCompleted(null, token, false)));
    }
  }

  async #hold({ job, token }: LockedJob, worker: string, leaseMs: number): Promise<Lease> {
    if (leaseMs !== this.#leaseMs) await within(job.extendLock(token, leaseMs));
    this.#taken.set(token, { job, isHeld: false });
    return { traceId: toTraceId(job), worker, token, leaseMs, isRedelivered: isRedelivered(job) };
  }

  /** Parks entries first and removes their jobs afterwards, so that an entry is always in at least one queue. */
  async #park(jobs: readonly LockedJob[]): Promise<void> {
    const entries = jobs.map(({ job }) => ({
      entry: toEntry(job),
      enqueuedAt: job.timestamp,
      isRedelivered: isRedelivered(job),
    }));
    await this.#parked.add(entries);
    this.#nextParkedLook = 0;
    await Promise.all(jobs.map(({ job, token }) => isOurs(() => within(job.moveToCompleted(null, token, false)))));
  }

  async #leaseParked(worker: string, leaseMs: number, filter: LeaseFilter): Promise<readonly Lease[]> {
    if (!isSelective(filter) && performance.now() < this.#nextParkedLook) return [];
    const leases = await this.#parked.lease(worker, { leaseMs, filter });
    if (leases.length === 0 && !isSelective(filter))
      this.#nextParkedLook = performance.now() + PERIODS_MS.parkedEntries;
    return leases;
  }
}

/** Applies a filter to the environment and key in the job's data. A job without them is parked; its row has both. */
function isAdmitted(job: Job<RunJob>, filter: LeaseFilter): boolean {
  const { envName, keyId } = job.data;
  if (envName === undefined || keyId === undefined) return !isSelective(filter);
  const { onlyEnvironments, exceptEnvironments = [], exceptKeys = [], exceptTraces = [], onlyTraces } = filter;
  if (onlyEnvironments?.includes(envName) === false || exceptEnvironments.includes(envName)) return false;
  if (exceptTraces.includes(toTraceId(job)) || onlyTraces?.includes(toTraceId(job)) === false) return false;
  return keyId === null || isRedelivered(job) || !exceptKeys.includes(keyId);
}

/** True when the step succeeded. BullMQ refuses it with a negative number when another worker holds the lease. */
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
  return newId();
}
