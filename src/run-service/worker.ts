import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WarmPool } from '../client/warm-pool.ts';
import type { Database } from '../database/database.ts';
import type { Lease } from '../queue/run-queue.ts';
import { createLeaseKeeper } from '../queue/threaded-lease-keeper.ts';
import { RunInterrupted } from '../rollout/run.ts';
import { endsWithin } from '../runtime/deadline.ts';
import type { TraceRow } from '../trace/trace-store.ts';
import { Admission, type Candidate } from './admission.ts';
import { createKeyClaims } from './key-claims.ts';
import { executeLease, type LeasedRunOptions } from './leased-run.ts';
import { createSweep } from './sweep.ts';

export interface WorkerSettings {
  /** Runs at once. Default: the number of cores. */
  readonly concurrency?: number | undefined;
  /** Runs at once of environments, by name, beside the `concurrency` of their targets; the lower one counts. */
  readonly environmentConcurrency?: ReadonlyMap<string, number> | undefined;
  /** Environments whose runs are taken; undefined: all, those that this worker does not know among them. */
  readonly onlyEnvironments?: readonly string[] | undefined;
  /** Processes that wait ready for the next run, of each environment that had one in the last 10 minutes. Default 1. */
  readonly spares?: number | undefined;
}

export interface WorkerOptions extends Omit<LeasedRunOptions, 'worker' | 'pool' | 'leases'>, WorkerSettings {
  /**
   * That of the store: for what keys may have at once, and for runs that got lost on their way to the queue. Without it
   * keys have no such limit, and nobody looks.
   */
  readonly database?: Database | undefined;
}

/** Executes runs from the queue. Whoever started it stops it. */
export interface Worker {
  /** Unique; what its leases and the traces of its runs are marked with. */
  readonly name: string;
  /** Runs at once. */
  readonly concurrency: number;
  /** Runs that it executes now. */
  readonly active: number;
  /** Ends a run that is executed here; another one is none of its business. */
  cancel(traceId: string): void;
  /** Takes no more runs, gives back those that it has, and waits for that, at most `graceMs` milliseconds. Never rejects. */
  stop(graceMs: number): Promise<void>;
}

/** Entries of other processes and leases that ran out are not heard of here: the queue is asked this often. */
const POLL_EVERY_MS = 1_000;
/** How often it is looked whether every accepted run is in the queue: a Redis may have been emptied. */
const SWEEP_EVERY_MS = 15_000;
/**
 * Runs that are taken before the event loop has its turn. SQLite answers without one: where there are many and the machine
 * is busy, the leases of the first would run out before the last is taken.
 */
const LEASES_PER_TURN = 10;
/** How long a process waits for the next run of its environment. */
const SPARE_LIFE_MS = 10 * 60_000;

interface ActiveRun {
  readonly traceId: string;
  readonly interrupt: AbortController;
  readonly ended: Promise<void>;
}

export function startWorker(options: WorkerOptions): Worker {
  const { queue, store, logger } = options;
  const worker = `worker_${process.pid}_${randomBytes(4).toString('hex')}`;
  const concurrency = options.concurrency ?? availableParallelism();
  const admission = new Admission({
    ...options,
    claims: options.database === undefined ? undefined : createKeyClaims(options.database),
  });
  const pool = new WarmPool({
    perEnvironment: options.spares ?? 1,
    idleMs: SPARE_LIFE_MS,
    report: (line) => logger.warn(line),
  });
  const leases = createLeaseKeeper(queue, {
    warn: (error) => logger.warn({ err: error }, 'Leases could not be renewed'),
  });
  const active = new Set<ActiveRun>();
  let isStopping = false;
  let filling: Promise<void> | undefined;
  let isWoken = false;

  async function fill(): Promise<void> {
    const refused = new Set<string>();
    let taken = 0;
    while (!isStopping && active.size < concurrency) {
      const lease = await queue.lease(worker, { filter: admission.filter() });
      if (lease === undefined) return;
      const hasBegun = await begin(lease);
      taken += 1;
      if (taken % LEASES_PER_TURN === 0) await nextTurn();
      if (hasBegun) continue;
      // A queue that offers the same entry once more has nothing else: what it waits for ends, or the next poll comes.
      if (refused.has(lease.traceId)) return;
      refused.add(lease.traceId);
    }
  }

  /** @returns false where the run has to wait and was given back. */
  async function begin(lease: Lease): Promise<boolean> {
    try {
      const row = isStopping ? undefined : await store.row(lease.traceId);
      const candidate = row && toCandidate(row);
      if (!isStopping && (candidate === undefined || (await admission.admit(candidate)))) {
        execute(lease, row, candidate);
        return true;
      }
    } catch (error) {
      await queue.release(lease);
      throw error;
    }
    await queue.release(lease);
    return false;
  }

  function execute(lease: Lease, row: TraceRow | undefined, candidate: Candidate | undefined): void {
    const interrupt = new AbortController();
    const ended = executeLease(lease, interrupt, { ...options, worker, pool, leases }, row)
      .finally(() => candidate && admission.leave(candidate))
      .catch((error: unknown) => {
        // The lease runs out, and the run starts again: here, or at a worker that is better off.
        logger.error({ traceId: lease.traceId, attempt: row?.attempt, err: error }, 'A run could not be executed');
      })
      .finally(() => {
        active.delete(run);
        wake();
      });
    const run: ActiveRun = { traceId: lease.traceId, interrupt, ended };
    active.add(run);
  }

  async function fillWhileWoken(): Promise<void> {
    try {
      while (isWoken) {
        isWoken = false;
        await fill();
      }
    } catch (error) {
      logger.error({ err: error }, 'The queue could not be asked for a run');
    } finally {
      filling = undefined;
    }
  }

  /** One filling at a time; a call during it makes another round. */
  function wake(): void {
    isWoken = true;
    filling ??= fillWhileWoken();
  }

  let sweeping: Promise<void> | undefined;
  async function sweep(enqueueForgotten: () => Promise<number>): Promise<void> {
    try {
      const runs = await enqueueForgotten();
      if (runs > 0) logger.warn({ runs }, 'Accepted runs without an entry in the queue were enqueued');
    } catch (error) {
      logger.error({ err: error }, 'It could not be looked whether every accepted run is in the queue');
    } finally {
      sweeping = undefined;
    }
  }

  const enqueueForgotten = options.database && createSweep(options.database, queue);
  const unsubscribe = queue.onEntry(wake);
  const poll = setInterval(wake, POLL_EVERY_MS);
  const sweeps = setInterval(() => {
    if (enqueueForgotten !== undefined) sweeping ??= sweep(enqueueForgotten);
  }, SWEEP_EVERY_MS);
  wake();

  return {
    name: worker,
    concurrency,
    get active() {
      return active.size;
    },
    cancel(traceId) {
      for (const run of active) if (run.traceId === traceId) run.interrupt.abort(new RunInterrupted('cancelled'));
    },
    async stop(graceMs) {
      isStopping = true;
      unsubscribe();
      clearInterval(poll);
      clearInterval(sweeps);
      for (const run of active) run.interrupt.abort(new RunInterrupted('released'));
      const ended = Promise.all([filling, sweeping, pool.close(), ...[...active].map((run) => run.ended)]);
      const isDone = await endsWithin(
        ended.then(() => leases.close()),
        graceMs,
      );
      void leases.close();
      if (!isDone) logger.error({ runs: [...active].map((run) => run.traceId) }, 'Runs were left to their leases');
    },
  };
}

function toCandidate({ traceId, request, keyId = null }: TraceRow): Candidate {
  return { traceId, envName: request.env_name, keyId };
}
