import type { Logger } from 'pino';
import type { DatabaseTransaction } from '../database/database.ts';
import { LEASE, type Lease, type RunQueue } from '../queue/run-queue.ts';
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

/**
 * Renews a lease every 3 s (contract section 3, "Durability") and looks whether someone asked to cancel the run.
 * Aborts `interrupt` with a `RunInterrupted` in either case. The logger is the run's.
 */
export function startHeartbeat(
  lease: Lease,
  interrupt: AbortController,
  { queue, store, logger }: { readonly queue: RunQueue; readonly store: TraceStore; readonly logger: Logger },
): Heartbeat {
  let isLost = false;
  let heldUntil = performance.now() + lease.leaseMs;
  let isBeating = false;
  let isStopped = false;

  async function beat(): Promise<void> {
    const askedAt = performance.now();
    if (!(await queue.renew(lease))) throw new LeaseLostError();
    heldUntil = askedAt + lease.leaseMs;
    const row = await store.row(lease.traceId);
    if (row?.cancelRequested && !isStopped) interrupt.abort(new RunInterrupted('cancelled'));
  }

  const timer = setInterval(() => {
    if (isBeating) return;
    isBeating = true;
    beat()
      .catch((error: unknown) => {
        if (isStopped) return;
        logger.warn({ err: error }, 'A lease could not be renewed');
        if (!(error instanceof LeaseLostError) && performance.now() < heldUntil) return;
        isLost = true;
        clearInterval(timer);
        interrupt.abort(new RunInterrupted('released'));
      })
      .finally(() => {
        isBeating = false;
      });
  }, LEASE.renewEveryMs);

  function stop(): void {
    isStopped = true;
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

class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';

  constructor() {
    super('The lease ran out and another worker has taken the run');
  }
}
