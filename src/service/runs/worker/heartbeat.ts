import type { Logger } from 'pino';
import { RunInterrupted } from '../../../rollout/session/run.ts';
import type { DatabaseTransaction } from '../../../store/database/database.ts';
import type { LeaseKeeper } from '../../../store/queue/lease-keeper.ts';
import type { Lease, RunQueue } from '../../../store/queue/run-queue.ts';
import type { CancelWatch } from './cancel-watch.ts';

export interface Heartbeat {
  /** True once the lease is lost. Another worker may have the run, so the holder writes no more. */
  readonly isLost: boolean;
  /**
   * Stops the heartbeat and removes the queue entry. It stops first, so that a concurrent renewal that finds no entry
   * is not taken for a lost lease.
   */
  complete(): Promise<void>;
  /** Stops the heartbeat and gives the queue entry back. */
  release(transaction?: DatabaseTransaction): Promise<void>;
  /** Stops the heartbeat only; the lease expires by itself. */
  stop(): void;
}

export interface HeartbeatOptions {
  readonly queue: RunQueue;
  readonly leases: LeaseKeeper;
  readonly cancels: CancelWatch;
  /** Logger of the run. */
  readonly logger: Logger;
}

/**
 * Renews the lease of a run and watches for its cancellation. Aborts `interrupt` with a `RunInterrupted` if the lease
 * is lost or the run is to be cancelled.
 */
export function startHeartbeat(
  lease: Lease,
  interrupt: AbortController,
  { queue, leases, cancels, logger }: HeartbeatOptions,
): Heartbeat {
  let isLost = false;
  const drop = leases.keep(lease, (error) => {
    logger.warn({ err: error }, 'The lease of a run was lost');
    isLost = true;
    unwatch();
    interrupt.abort(new RunInterrupted('released'));
  });
  const unwatch = cancels.watch(lease.traceId, () => interrupt.abort(new RunInterrupted('cancelled')));
  const stop = () => {
    drop();
    unwatch();
  };
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
