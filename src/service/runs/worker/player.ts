import { randomBytes } from 'node:crypto';
import { messageOf } from '../../../contract/errors.ts';
import { isEnded } from '../../../contract/service/ended.ts';
import { RunInterrupted } from '../../../rollout/session/run.ts';
import type { Lease } from '../../../store/queue/run-queue.ts';
import { createLeaseKeeper } from '../../../store/queue/threaded-lease-keeper.ts';
import { endsWithin } from '../../../support/runtime/deadline.ts';
import { createCancelWatch } from './cancel-watch.ts';
import { executeLease, type LeasedRunOptions } from './leased-run.ts';

export interface PlayerOptions extends Omit<LeasedRunOptions, 'worker' | 'leases' | 'cancels'> {
  /** Called when another worker has taken over a run, because this process did not renew its lease in time. */
  readonly onTakenOver?: ((traceId: string) => void) | undefined;
}

/** Plays the runs that it is given, without polling the queue. Its creator stops it. */
export interface Player {
  /** Unique name. Leases and traces contain it. */
  readonly name: string;
  /** Plays the run of a lease that this player holds. */
  play(lease: Lease): void;
  /** Cancels a run that it plays, and ignores others. */
  cancel(traceId: string): void;
  /** Gives back its runs, and waits at most `graceMs` milliseconds. Never rejects. */
  stop(graceMs: number): Promise<void>;
}

export function createPlayer(options: PlayerOptions): Player {
  const name = `command_${process.pid}_${randomBytes(4).toString('hex')}`;
  const { queue, store, logger } = options;
  const leases = createLeaseKeeper(queue, {
    warn: (error) => logger.warn({ err: error }, 'Leases could not be renewed'),
  });
  const cancels = createCancelWatch(store, (error) =>
    logger.warn({ err: error }, `Cancelled runs could not be looked for: ${messageOf(error)}`),
  );
  let isStopping = false;
  const playing = new Map<string, { readonly interrupt: AbortController; readonly ended: Promise<void> }>();
  const parts = { ...options, worker: name, leases, cancels };

  /** Plays the attempts of a run. An attempt that lost its environment is followed by the next one here. */
  async function playAttempts(first: Lease, interrupt: AbortController): Promise<void> {
    const { traceId } = first;
    for (let lease: Lease | undefined = first; lease !== undefined; ) {
      if (isStopping) return await queue.release(lease);
      await executeLease(lease, interrupt, parts);
      const row = isStopping ? undefined : await store.row(traceId);
      if (row === undefined || isEnded(row.status)) return;
      const next: readonly Lease[] = interrupt.signal.aborted
        ? []
        : await queue.lease(name, { filter: { onlyTraces: [traceId] } });
      [lease] = next;
    }
    options.onTakenOver?.(traceId);
  }

  return {
    name,
    play(lease) {
      const { traceId } = lease;
      const interrupt = new AbortController();
      const ended = playAttempts(lease, interrupt)
        // The lease expires, and another worker starts the run again.
        .catch((error: unknown) => logger.error({ traceId, err: error }, 'A run could not be executed'))
        .finally(() => playing.delete(traceId));
      playing.set(traceId, { interrupt, ended });
    },
    cancel(traceId) {
      playing.get(traceId)?.interrupt.abort(new RunInterrupted('cancelled'));
    },
    async stop(graceMs) {
      isStopping = true;
      const runs = [...playing.values()];
      for (const { interrupt } of runs) interrupt.abort(new RunInterrupted('released'));
      const isDone = await endsWithin(Promise.all(runs.map(({ ended }) => ended)), graceMs);
      if (!isDone) logger.error({ runs: [...playing.keys()] }, 'Runs were left to their leases');
      cancels.close();
      await leases.close();
    },
  };
}
