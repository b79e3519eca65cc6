import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { EnvironmentPool } from '../client/environment-pool.ts';
import type { Database } from '../database/database.ts';
import { type AttemptGuards, createAttemptGuards } from '../evaluations/attempt-guards.ts';
import { type Driver, startDriver } from '../evaluations/driver.ts';
import type { LeaseKeeper } from '../queue/lease-keeper.ts';
import type { Lease } from '../queue/run-queue.ts';
import { createLeaseKeeper } from '../queue/threaded-lease-keeper.ts';
import { RunInterrupted } from '../rollout/run.ts';
import { endsWithin } from '../runtime/deadline.ts';
import type { TraceRow } from '../trace/trace-store.ts';
import type { JobDriver } from '../training/jobs/job-driver.ts';
import type { Training } from '../training/training.ts';
import { createRegradeWork } from '../trust/regrade/regrade-work.ts';
import { Admission, type Candidate } from './admission.ts';
import { type CancelWatch, createCancelWatch } from './cancel-watch.ts';
import { defaultCapacity, defaultConcurrency } from './default-concurrency.ts';
import { createKeyClaims } from './key-claims.ts';
import { executeLease, type LeasedRunOptions } from './leased-run.ts';
import { type Sweeps, startSweeps } from './sweep.ts';

export interface WorkerSettings {
  /**
   * Runs at once. Default: for each environment the sessions that its hosts hold together, or the number of cores where
   * each run has a process of its own; 512 at most.
   */
  readonly concurrency?: number | undefined;
  /** Runs at once of environments, by name, beside the `concurrency` of their targets; the lower one counts. */
  readonly environmentConcurrency?: ReadonlyMap<string, number> | undefined;
  /** Environments whose runs are taken; undefined: all, those that this worker does not know among them. */
  readonly onlyEnvironments?: readonly string[] | undefined;
  /** Processes that wait ready for the next run, of each environment that had one in the last 10 minutes. Default 1. */
  readonly spares?: number | undefined;
  /** Processes of one environment whose runs share them. Default: the number of cores. */
  readonly hosts?: number | undefined;
  /** Milliseconds that a chat session may wait for a process of the same pool. Default 60,000. */
  readonly startTimeoutMs?: number | undefined;
  /** Processes that others use too. Whoever made it closes it. Default: a pool of its own. */
  readonly pool?: EnvironmentPool | undefined;
}

export interface WorkerOptions
  extends Omit<LeasedRunOptions, 'worker' | 'pool' | 'leases' | 'cancels' | 'guards'>,
    WorkerSettings {
  /**
   * That of the store: for what keys may have at once, for runs that got lost on their way to the queue, and for evaluations.
   * Without it keys have no such limit, and nobody looks.
   */
  readonly database?: Database | undefined;
  /** Training whose jobs it works on; undefined: none. */
  readonly training?: Training | undefined;
}

/** Executes runs from the queue. Whoever started it stops it. */
export interface Worker {
  /** Unique; what its leases and the traces of its runs are marked with. */
  readonly name: string;
  /** Runs at once. */
  readonly concurrency: number;
  /** Runs that it executes now. */
  readonly active: number;
  /** The processes of its environments. */
  readonly pool: EnvironmentPool;
  /** Begins the attempts of evaluations; undefined without a database. */
  readonly driver: Driver | undefined;
  /** Ends a run that is executed here; another one is none of its business. */
  cancel(traceId: string): void;
  /** Takes no more runs, gives back those that it has, and waits for that, at most `graceMs` milliseconds. Never rejects. */
  stop(graceMs: number): Promise<void>;
}

/** Entries of other processes and leases that ran out are not heard of here: the queue is asked this often. */
const POLL_EVERY_MS = 1_000;
/** Runs that are leased at one time: their leases must not run out before the last one has begun. */
const MAX_LEASED = 64;
/** Processes that wait for the next run of an environment. */
export const DEFAULT_SPARES = 1;
/** How long a process waits for the next run of its environment, in milliseconds. */
export const SPARE_LIFE_MS = 10 * 60_000;

interface ActiveRun {
  readonly traceId: string;
  readonly interrupt: AbortController;
  readonly ended: Promise<void>;
}

export function startWorker(options: WorkerOptions): Worker {
  return new QueueWorker(options);
}

class QueueWorker implements Worker {
  readonly name = `worker_${process.pid}_${randomBytes(4).toString('hex')}`;
  readonly pool: EnvironmentPool;
  readonly driver: Driver | undefined;
  readonly #options: WorkerOptions;
  readonly #admission: Admission;
  readonly #leases: LeaseKeeper;
  readonly #cancels: CancelWatch;
  readonly #active = new Set<ActiveRun>();
  readonly #unsubscribe: () => void;
  readonly #poll: NodeJS.Timeout;
  readonly #sweeps: Sweeps | undefined;
  readonly #guards: AttemptGuards | undefined;
  readonly #jobs: JobDriver | undefined;
  #isStopping = false;
  #isWoken = false;
  #filling: Promise<void> | undefined;

  constructor(options: WorkerOptions) {
    const { queue, database, logger } = options;
    this.#options = options;
    this.pool = options.pool ?? createWorkerPool(options);
    this.#admission = new Admission({
      ...options,
      claims: database && createKeyClaims(database),
      capacityOf: options.concurrency === undefined ? (target) => defaultCapacity(target, this.pool) : undefined,
      hasRoom: (target) => this.pool.hasRoom(target),
    });
    this.#leases = createLeaseKeeper(queue, {
      warn: (error) => logger.warn({ err: error }, 'Leases could not be renewed'),
    });
    this.#cancels = createCancelWatch(options.store, (error) => {
      logger.warn({ err: error }, 'Cancelled runs could not be looked for');
    });
    this.#unsubscribe = queue.onEntry(() => this.#wake());
    this.#poll = setInterval(() => this.#wake(), POLL_EVERY_MS);
    this.#sweeps = database && startSweeps(database, queue, logger);
    this.#guards = database && createAttemptGuards({ database, worker: this.name, logger });
    const cancelHere = (traceId: string) => this.cancel(traceId);
    const others = database && [createRegradeWork({ ...options, database, now: Date.now })];
    this.driver = database && startDriver({ ...options, database, cancelHere, others });
    this.#jobs = options.training?.drive(logger);
    this.#wake();
  }

  get concurrency(): number {
    const { concurrency, environments } = this.#options;
    return concurrency ?? defaultConcurrency(environments.values(), this.pool);
  }

  get active(): number {
    return this.#active.size;
  }

  cancel(traceId: string): void {
    for (const run of this.#active) if (run.traceId === traceId) run.interrupt.abort(new RunInterrupted('cancelled'));
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    this.#unsubscribe();
    clearInterval(this.#poll);
    for (const run of this.#active) run.interrupt.abort(new RunInterrupted('released'));
    const runs = [...this.#active];
    const ended = [
      this.#filling,
      this.#sweeps?.stop(),
      this.driver?.stop(),
      this.#jobs?.stop(),
      ...runs.map((run) => run.ended),
    ];
    const isDone = await endsWithin(
      Promise.all([...ended, this.#options.pool === undefined && this.pool.close()]).then(() =>
        Promise.all([this.#leases.close(), this.#guards?.close()]),
      ),
      graceMs,
    );
    this.#cancels.close();
    if (isDone) return;
    void this.#leases.close();
    void this.#guards?.close();
    const left = [...this.#active].map((run) => run.traceId);
    this.#options.logger.error({ runs: left }, 'Runs were left to their leases');
  }

  #parts(): LeasedRunOptions {
    return {
      ...this.#options,
      worker: this.name,
      pool: this.pool,
      leases: this.#leases,
      cancels: this.#cancels,
      guards: this.#guards,
    };
  }

  /** One filling at a time; a call during it makes another round. */
  #wake(): void {
    this.#isWoken = true;
    this.#filling ??= this.#fillWhileWoken();
  }

  async #fillWhileWoken(): Promise<void> {
    try {
      while (this.#isWoken) {
        this.#isWoken = false;
        await this.#fill();
      }
    } catch (error) {
      this.#options.logger.error({ err: error }, 'The queue could not be asked for a run');
    } finally {
      this.#filling = undefined;
    }
  }

  async #fill(): Promise<void> {
    const refused = new Set<string>();
    while (!this.#isStopping && this.#active.size < this.concurrency) {
      const limit = Math.min(MAX_LEASED, this.concurrency - this.#active.size);
      const leases = await this.#options.queue.lease(this.name, { filter: this.#admission.filter(), limit });
      if (leases.length === 0) return;
      const waiting = await this.#begin(leases);
      // A queue that offers the same entry once more has nothing else: what it waits for ends, or the next poll comes.
      if (waiting.some(({ traceId }) => refused.has(traceId))) return;
      for (const { traceId } of waiting) refused.add(traceId);
      await nextTurn(); // SQLite answers without one.
    }
  }

  /** @returns those that have to wait: they were given back. */
  async #begin(leases: readonly Lease[]): Promise<readonly Lease[]> {
    const { queue, store } = this.#options;
    const left = new Set(leases);
    try {
      const rows = await store.rows(leases.map(({ traceId }) => traceId));
      for (const lease of leases) {
        const row = rows.get(lease.traceId);
        const candidate = row && toCandidate(row);
        if (this.#isStopping || (candidate !== undefined && !(await this.#admission.admit(candidate)))) continue;
        left.delete(lease);
        this.#execute(lease, row, candidate);
      }
    } finally {
      for (const lease of left) await queue.release(lease);
    }
    return [...left];
  }

  #execute(lease: Lease, row: TraceRow | undefined, candidate: Candidate | undefined): void {
    const interrupt = new AbortController();
    const ended = executeLease(lease, interrupt, this.#parts(), row)
      .finally(() => candidate && this.#admission.leave(candidate))
      .catch((error: unknown) => {
        // The lease runs out, and the run starts again: here, or at a worker that is better off.
        const { logger } = this.#options;
        logger.error({ traceId: lease.traceId, attempt: row?.attempt, err: error }, 'A run could not be executed');
      })
      .finally(() => {
        this.#active.delete(run);
        this.#wake();
      });
    const run: ActiveRun = { traceId: lease.traceId, interrupt, ended };
    this.#active.add(run);
  }
}

/** The caller closes it. */
export function createWorkerPool({
  spares,
  hosts,
  logger,
}: Pick<WorkerOptions, 'spares' | 'hosts' | 'logger'>): EnvironmentPool {
  return new EnvironmentPool({
    perEnvironment: spares ?? DEFAULT_SPARES,
    hosts,
    idleMs: SPARE_LIFE_MS,
    report: (line) => logger.warn(line),
  });
}

function toCandidate({ traceId, request, keyId = null }: TraceRow): Candidate {
  return { traceId, envName: request.env_name, keyId };
}
