import type { Logger } from 'pino';
import type { DatabaseTransaction } from '../database/database.ts';
import type { LeaseKeeper } from '../queue/lease-keeper.ts';
import type { Lease, RunQueue } from '../queue/run-queue.ts';
import { RunInterrupted } from '../rollout/run.ts';
import type { CancelWatch } from './cancel-watch.ts';

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
  readonly leases: LeaseKeeper;
  readonly cancels: CancelWatch;
  /** That of the run. */
  readonly logger: Logger;
}

/**
 * Has the lease of a run renewed, and its cancellation looked for. Aborts `interrupt` with a `RunInterrupted` when the
 * lease was lost, or the run is to be cancelled.
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
