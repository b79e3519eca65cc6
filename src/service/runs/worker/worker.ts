import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EnvironmentPool } from '../../../environment/client/pool/environment-pool.ts';
import { type AttemptGuards, createAttemptGuards } from '../../../evaluation/evaluations/attempt-guards.ts';
import { pausedAmong } from '../../../evaluation/evaluations/evaluation-rows.ts';
import { type Scheduler, startScheduler } from '../../../evaluation/evaluations/scheduler.ts';
import { createRegradeWork } from '../../../evaluation/replays/regrade/regrade-work.ts';
import { RunInterrupted } from '../../../rollout/session/run.ts';
import type { Database } from '../../../store/database/database.ts';
import type { LeaseKeeper } from '../../../store/queue/lease-keeper.ts';
import type { Lease } from '../../../store/queue/run-queue.ts';
import { createLeaseKeeper } from '../../../store/queue/threaded-lease-keeper.ts';
import type { TraceRow } from '../../../store/traces/trace-store.ts';
import { endsWithin } from '../../../support/runtime/deadline.ts';
import { type Loop, startLoop } from '../../../support/runtime/loop.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';
import { createImitationModels } from '../../../training/imitation/imitation-models.ts';
import type { JobDriver } from '../../../training/jobs/job-driver.ts';
import type { Training } from '../../../training/training.ts';
import { defaultCapacity, defaultConcurrency } from '../default-concurrency.ts';
import { Admission, type Candidate } from './admission.ts';
import { type CancelWatch, createCancelWatch } from './cancel-watch.ts';
import { createKeyClaims } from './key-claims.ts';
import { executeLease, type LeasedRunOptions } from './leased-run.ts';
import { startSandboxSweep } from './sandbox-sweep.ts';
import { startSweeps } from './sweep.ts';
import { createWorkerPool } from './worker-pool.ts';

export interface WorkerSettings {
  /**
   * Concurrent runs; at most 512. Default: the sum over all environments of the sessions that their shared processes
   * hold, or the number of cores for an environment with a process for each run.
   */
  readonly concurrency?: number | undefined;
  /** Concurrent runs by environment. The target has a `concurrency` too, and the lower one counts. */
  readonly environmentConcurrency?: ReadonlyMap<string, number> | undefined;
  /** Environments whose runs are taken. Undefined: all known ones. */
  readonly onlyEnvironments?: readonly string[] | undefined;
  /** Spare processes of each environment that had a run in the last 10 minutes. Default 1. */
  readonly spares?: number | undefined;
  /** Shared processes of one environment. Default: the number of cores. */
  readonly hosts?: number | undefined;
  /** Milliseconds that a chat session may wait for a process of the same pool. Default 60,000. */
  readonly startTimeoutMs?: number | undefined;
  /** Pool that others share. Its creator closes it. Default: a pool of its own. */
  readonly pool?: EnvironmentPool | undefined;
}

export interface WorkerOptions
  extends Omit<LeasedRunOptions, 'worker' | 'pool' | 'leases' | 'cancels' | 'guards'>,
    WorkerSettings {
  /**
   * Database of the store, for limits of keys, runs without a queue entry, and evaluations. Without it the worker does
   * none of these.
   */
  readonly database?: Database | undefined;
  /** Training whose jobs the worker processes. Undefined: none. */
  readonly training?: (() => Promise<Training>) | undefined;
  /** Address of this process's server, for messages. */
  readonly address?: string | undefined;
  /**
   * Searches environments and agents again; returns a message if something is wrong. Never rejects. Default: they
   * never change.
   */
  readonly lookAgain?: (() => Promise<string | undefined>) | undefined;
}

/** Executes runs from the queue. The caller stops it. */
export interface Worker {
  /** Unique name. Leases and traces contain it. */
  readonly name: string;
  /** Most concurrent runs. */
  readonly concurrency: number;
  /** Number of active runs. */
  readonly active: number;
  /** The processes of its environments. */
  readonly pool: EnvironmentPool;
  /** Starts the attempts of evaluations; undefined without a database. */
  readonly driver: Scheduler | undefined;
  /** Cancels a run that this worker plays, and ignores others. */
  cancel(traceId: string): void;
  /** Takes no more runs, gives back active ones, and waits at most `graceMs` milliseconds. Never rejects. */
  stop(graceMs: number): Promise<void>;
}

/** Most runs of one lease call, so that no lease expires before its run starts. */
const MAX_LEASED = 64;

interface ActiveRun {
  readonly traceId: string;
  readonly interrupt: AbortController;
  readonly ended: Promise<void>;
}

export function startWorker(options: WorkerOptions): Worker {
  const { database, models } = options;
  if (database === undefined) return new QueueWorker(options);
  return new QueueWorker({ ...options, models: models.serving(createImitationModels(database)) });
}

class QueueWorker implements Worker {
  readonly name = `worker_${process.pid}_${randomBytes(4).toString('hex')}`;
  readonly pool: EnvironmentPool;
  readonly driver: Scheduler | undefined;
  readonly #options: WorkerOptions;
  readonly #admission: Admission;
  readonly #leases: LeaseKeeper;
  readonly #cancels: CancelWatch;
  readonly #active = new Set<ActiveRun>();
  readonly #unsubscribe: () => void;
  readonly #loop: Loop;
  readonly #sweeps: Loop | undefined;
  readonly #sandboxSweep: Loop;
  readonly #guards: AttemptGuards | undefined;
  readonly #jobs: Promise<JobDriver | undefined> | undefined;
  #isStopping = false;
  #lookedAroundAt = performance.now();
  /** Error message of the configuration at the last check. */
  #problem: string | undefined;

  constructor(options: WorkerOptions) {
    const { queue, database, logger } = options;
    this.#options = options;
    this.pool = options.pool ?? createWorkerPool(options);
    this.#admission = new Admission({
      ...options,
      claims: database && createKeyClaims(database),
      pausedAmong: database && ((ids) => pausedAmong(database, ids)),
      capacityOf: options.concurrency === undefined ? (target) => defaultCapacity(target, this.pool) : undefined,
      hasRoom: (target) => this.pool.hasRoom(target),
      report: (line) => logger.warn(line),
    });
    this.#leases = createLeaseKeeper(queue, {
      warn: (error) => logger.warn({ err: error }, 'Leases could not be renewed'),
    });
    this.#cancels = createCancelWatch(options.store, (error) => {
      logger.warn({ err: error }, 'Cancelled runs could not be looked for');
    });
    this.#loop = startLoop({
      look: () => this.#look(),
      // Entries of other processes and expired leases wake nothing here, so the loop polls.
      restMs: PERIODS_MS.queue,
      looksAtOnce: true,
      keepsAlive: true,
      onError: (error) => logger.error({ err: error }, 'The queue could not be asked for a run'),
    });
    this.#unsubscribe = queue.onEntry(() => this.#loop.wake());
    this.#sweeps = database && startSweeps(database, queue, logger);
    this.#sandboxSweep = startSandboxSweep(options.environments, logger);
    this.#guards = database && createAttemptGuards({ database, worker: this.name, logger });
    const cancelHere = (traceId: string) => this.cancel(traceId);
    const jobs = database && [createRegradeWork({ ...options, database, now: Date.now })];
    this.driver = database && startScheduler({ ...options, database, cancelHere, jobs });
    this.#jobs = options.training?.().then(
      (training) => training.drive(logger),
      (error: unknown) => void logger.error({ err: error }, 'Training jobs are not worked on here'),
    );
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
    // A pool that was given has an owner, who knows whether the process ends.
    if (this.#options.pool === undefined) this.pool.shutDown();
    for (const run of this.#active) run.interrupt.abort(new RunInterrupted('released'));
    const runs = [...this.#active];
    const ended = [
      this.#loop.stop(),
      this.#sweeps?.stop(),
      this.#sandboxSweep.stop(),
      this.driver?.stop(),
      this.#jobs?.then((jobs) => jobs?.stop()),
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

  /** Takes runs on each wake. Periodically it also looks for changes by other processes. */
  async #look(): Promise<void> {
    if (performance.now() - this.#lookedAroundAt >= PERIODS_MS.queue) {
      this.#lookedAroundAt = performance.now();
      await this.#lookAround();
    }
    await this.#fill();
  }

  async #lookAround(): Promise<void> {
    const problem = await this.#options.lookAgain?.();
    if (problem !== undefined && problem !== this.#problem) {
      this.#options.logger.warn(`${problem} This process goes on with what it knew before.`);
    }
    this.#problem = problem;
    await this.#admission.readPaused().catch((error: unknown) => {
      this.#options.logger.warn({ err: error }, 'Paused evaluations could not be looked for');
    });
  }

  async #fill(): Promise<void> {
    const refused = new Set<string>();
    while (!this.#isStopping && this.#active.size < this.concurrency) {
      const limit = Math.min(MAX_LEASED, this.concurrency - this.#active.size);
      const leases = await this.#options.queue.lease(this.name, { filter: this.#admission.filter(), limit });
      if (leases.length === 0) return;
      const waiting = await this.#begin(leases);
      // The queue offers a refused entry again, so it has no others. The next poll or the end of a run continues.
      if (waiting.some(({ traceId }) => refused.has(traceId))) return;
      for (const { traceId } of waiting) refused.add(traceId);
      await nextTurn(); // SQLite answers without yielding to the event loop.
    }
  }

  /** @returns the leases that were given back, since their runs have to wait. */
  async #begin(leases: readonly Lease[]): Promise<readonly Lease[]> {
    const { store } = this.#options;
    const left = new Set(leases);
    try {
      const rows = await store.rows(leases.map(({ traceId }) => traceId));
      await this.#admission.readPaused([...rows.values()].map(toCandidate));
      for (const lease of leases) {
        const row = rows.get(lease.traceId);
        const candidate = row && toCandidate(row);
        if (this.#isStopping || (candidate !== undefined && !(await this.#admission.admit(candidate)))) continue;
        left.delete(lease);
        this.#execute(lease, row, candidate);
      }
    } finally {
      await this.#giveBack(left);
    }
    return [...left];
  }

  /** Gives leases back. One that fails expires by itself, and does not stop the others. */
  async #giveBack(leases: Iterable<Lease>): Promise<void> {
    const { queue, logger } = this.#options;
    const giving = [...leases].map((lease) =>
      queue.release(lease).catch((error: unknown) => {
        logger.warn({ traceId: lease.traceId, err: error }, 'A run that has to wait could not be given back');
      }),
    );
    await Promise.all(giving);
  }

  #execute(lease: Lease, row: TraceRow | undefined, candidate: Candidate | undefined): void {
    const interrupt = new AbortController();
    const ended = executeLease(lease, interrupt, this.#parts(), row)
      .finally(() => candidate && this.#admission.leave(candidate))
      .catch((error: unknown) => {
        // The lease expires, and any worker starts the run again.
        const { logger } = this.#options;
        logger.error({ traceId: lease.traceId, attempt: row?.attempt, err: error }, 'A run could not be executed');
      })
      .finally(() => {
        this.#active.delete(run);
        this.#loop.wake();
      });
    const run: ActiveRun = { traceId: lease.traceId, interrupt, ended };
    this.#active.add(run);
  }
}

function toCandidate({ traceId, request, keyId = null }: TraceRow): Candidate {
  const evaluationId = request.evaluation?.evaluation_id ?? null;
  return { traceId, envName: request.env_name, keyId, agent: request.agent ?? null, evaluationId };
}
