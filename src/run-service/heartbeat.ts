import type { Logger } from 'pino';
import type { DatabaseTransaction } from '../database/database.ts';
import type { LeaseKeeper } from '../queue/lease-keeper.ts';
import type { Lease, RunQueue } from '../queue/run-queue.ts';
import { RunInterrupted } from '../rollout/run.ts';
import type { TraceStore } from '../trace/trace-store.ts';

export interface Heartbeat {
  /** True once another worker may have the run: whoever held it writes no more. */
  readonly isLost: boolean;
  /**
   * Ends it and takes the entry out of the queue. It ends first: a renewal that is under way finds no entry then, and that
   * is no loss.
   */
  complete(): Promise<void>;
  /** Ends it and gives the entry back. */
  release(transaction?: DatabaseTransaction): Promise<void>;
  /** Ends it alone: the lease runs out. */
  stop(): void;
}

export interface HeartbeatOptions {
  readonly queue: RunQueue;
  /** Renews the lease. */
  readonly leases: LeaseKeeper;
  readonly store: TraceStore;
  readonly logger: Logger;
}

/** How often a run that goes on looks whether someone asked to cancel it, in milliseconds. */
const LOOK_EVERY_MS = 3_000;

/**
 * Has a lease renewed and looks whether someone asked to cancel the run.
 * Aborts `interrupt` with a `RunInterrupted` when it was lost, or cancelled. The logger is the run's.
 */
export function startHeartbeat(
  lease: Lease,
  interrupt: AbortController,
  { queue, leases, store, logger }: HeartbeatOptions,
): Heartbeat {
  let isLost = false;
  let isLooking = false;
  let isStopped = false;

  const drop = leases.keep(lease, (error) => {
    logger.warn({ err: error }, 'A lease could not be renewed');
    isLost = true;
    clearInterval(timer);
    interrupt.abort(new RunInterrupted('released'));
  });

  async function look(): Promise<void> {
    const row = await store.row(lease.traceId);
    if (row?.cancelRequested && !isStopped) interrupt.abort(new RunInterrupted('cancelled'));
  }

  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    look()
      .catch((error: unknown) => {
        if (!isStopped) logger.warn({ err: error }, 'It could not be looked whether the run is to be cancelled');
      })
      .finally(() => {
        isLooking = false;
      });
  }, LOOK_EVERY_MS);

  function stop(): void {
    isStopped = true;
    drop();
    clearInterval(timer);
  }

  return {
    get isLost() {
      return isLost;
    },
    complete() {
      stop();
      return queue.complete(lease);
    },
    release(transaction) {
      stop();
      return queue.release(lease, transaction);
    },
    stop,
  };
}
