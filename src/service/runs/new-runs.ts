import type { DatabaseTransaction } from '../../store/database/database.ts';
import type { Lease, RunQueue } from '../../store/queue/run-queue.ts';
import type { NewTrace, TraceStore } from '../../store/traces/trace-store.ts';
import { shuttingDown } from '../../support/http/api/errors.ts';
import { newId } from '../../support/runtime/new-id.ts';
import type { QueuedQuota } from './routes/queued-quota.ts';
import type { Player } from './worker/player.ts';

export interface NewRun {
  readonly account: string;
  readonly keyId: string | null;
  readonly queued: NewTrace['queued'];
}

export interface NewRunsOptions {
  readonly store: TraceStore;
  readonly queue: RunQueue;
  /** Limits the queued runs of each key. */
  readonly quota: QueuedQuota;
  /** Plays new runs in this process. Default: any worker may take them. */
  readonly player: Player | undefined;
  /** Aborted when the service shuts down. */
  readonly closing: AbortSignal;
}

/** Creates queued runs. All routes and jobs create them here. */
export class NewRuns {
  readonly #options: NewRunsOptions;

  constructor(options: NewRunsOptions) {
    this.#options = options;
  }

  /**
   * Creates a run in one transaction: row, first event and queue entry. A refused run leaves nothing behind.
   *
   * @param keep further writes of the same transaction.
   * @returns the id of its trace. @throws ApiError quota_exceeded; what `keep` throws.
   */
  async create(
    { account, keyId, queued }: NewRun,
    keep?: (transaction: DatabaseTransaction, traceId: string) => Promise<void>,
  ): Promise<string> {
    const { store, queue, quota, player, closing } = this.#options;
    if (closing.aborted) throw shuttingDown(); // The service may have shut down while the environment was read.
    const traceId = newId();
    const entry = { traceId, priority: queued.priority, envName: queued.env_name, keyId };
    let lease: Lease | undefined;
    await quota.within(keyId, () =>
      store.create({ traceId, account, keyId, queued }, async (transaction) => {
        await keep?.(transaction, traceId);
        if (player === undefined) await queue.enqueue(entry, transaction);
        else lease = await queue.enqueueLeased(entry, player.name, transaction);
      }),
    );
    if (lease !== undefined) player?.play(lease);
    return traceId;
  }
}
