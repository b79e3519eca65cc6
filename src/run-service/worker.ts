import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { Lease } from '../queue/run-queue.ts';
import { RunInterrupted } from '../rollout/run.ts';
import { executeLease, type LeasedRunOptions } from './leased-run.ts';

export interface WorkerOptions extends Omit<LeasedRunOptions, 'worker'> {
  /** Runs at once. Default: the number of cores. */
  readonly concurrency?: number | undefined;
}

/** Executes runs from the queue. Whoever started it stops it. */
export interface Worker {
  /** Ends a run that is executed here; another one is none of its business. */
  cancel(traceId: string): void;
  /** Takes no more runs, gives back those that it has, and waits for that, at most `graceMs` milliseconds. Never rejects. */
  stop(graceMs: number): Promise<void>;
}

/** Entries of other processes and leases that ran out are not heard of here: the queue is asked this often. */
const POLL_EVERY_MS = 1_000;

interface ActiveRun {
  readonly traceId: string;
  readonly interrupt: AbortController;
  readonly ended: Promise<void>;
}

export function startWorker(options: WorkerOptions): Worker {
  const { queue, logger } = options;
  const worker = `worker_${process.pid}_${randomBytes(4).toString('hex')}`;
  const concurrency = options.concurrency ?? availableParallelism();
  const active = new Set<ActiveRun>();
  let isStopping = false;
  let filling: Promise<void> | undefined;
  let isWoken = false;

  async function fill(): Promise<void> {
    while (!isStopping && active.size < concurrency) {
      const lease = await queue.lease(worker);
      if (lease === undefined) return;
      if (isStopping) await queue.release(lease);
      else execute(lease);
    }
  }

  function execute(lease: Lease): void {
    const interrupt = new AbortController();
    const ended = executeLease(lease, interrupt, { ...options, worker })
      .catch((error: unknown) => {
        // The lease runs out, and the run starts again: here, or at a worker that is better off.
        logger.error({ traceId: lease.traceId, err: error }, 'A run could not be executed');
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

  const unsubscribe = queue.onEntry(wake);
  const poll = setInterval(wake, POLL_EVERY_MS);
  wake();

  return {
    cancel(traceId) {
      for (const run of active) if (run.traceId === traceId) run.interrupt.abort(new RunInterrupted('cancelled'));
    },
    async stop(graceMs) {
      isStopping = true;
      unsubscribe();
      clearInterval(poll);
      for (const run of active) run.interrupt.abort(new RunInterrupted('released'));
      const ended = Promise.all([filling, ...[...active].map((run) => run.ended)]);
      const isDone = await settlesWithin(ended, graceMs);
      if (!isDone) logger.error({ runs: [...active].map((run) => run.traceId) }, 'Runs were left to their leases');
    },
  };
}

async function settlesWithin(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
