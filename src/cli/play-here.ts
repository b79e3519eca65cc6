import { randomBytes } from 'node:crypto';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import { EnvironmentPool } from '../client/environment-pool.ts';
import { messageOf } from '../contract/errors.ts';
import type { TraceEvent } from '../contract/event.ts';
import type { Trace } from '../contract/trace.ts';
import { LEASE, type Lease } from '../queue/run-queue.ts';
import { createLeaseKeeper } from '../queue/threaded-lease-keeper.ts';
import { RunInterrupted } from '../rollout/run.ts';
import { createCancelWatch } from '../run-service/cancel-watch.ts';
import { executeLease } from '../run-service/leased-run.ts';
import type { NewTrace } from '../trace/trace-store.ts';
import type { Installation } from './installation.ts';
import { createLogger } from './logger.ts';
import type { PoolCommandOptions } from './pool-options.ts';
import { note } from './terminal.ts';

/** Plays runs in this process. Disposing of it ends its processes; the installation stays its owner's. */
export interface Player extends AsyncDisposable {
  readonly pool: EnvironmentPool;
  /** One run from its beginning to its end; `stop` cancels it. Its events are shown as they come. */
  play(queued: NewTrace['queued'], show: (events: readonly TraceEvent[]) => void, stop: AbortSignal): Promise<Trace>;
}

export function createPlayer(
  installation: Installation,
  environments: ReadonlyMap<string, EnvironmentTarget>,
  { hosts, startTimeoutMs }: PoolCommandOptions,
): Player {
  const { store, queue, models, agents, redactor } = installation;
  const pool = new EnvironmentPool({ perEnvironment: 0, hosts, startTimeoutMs, report: note });
  const leases = createLeaseKeeper(queue);
  const cancels = createCancelWatch(store, (error) =>
    note(`Cancelled runs could not be looked for: ${messageOf(error)}`),
  );
  const worker = `command_${process.pid}`;
  return {
    pool,
    /**
     * The run goes the way of every run: a row, its first event and a queue entry in one commit. Only that this process
     * holds the entry from the start; should it die, a worker of the same database finishes the run.
     */
    async play(queued, show, stop) {
      const traceId = randomBytes(16).toString('hex');
      const unsubscribe = store.subscribe(traceId, show);
      // Its own, since a run is stopped by its heartbeat too, when its lease is lost or someone cancels it.
      const interrupt = new AbortController();
      const cancel = () => interrupt.abort(new RunInterrupted('cancelled'));
      stop.addEventListener('abort', cancel);
      try {
        let lease: Lease | undefined;
        await store.create({ traceId, account: 'local', queued }, async (transaction) => {
          lease = await queue.enqueueLeased({ traceId, priority: queued.priority }, worker, transaction);
        });
        if (lease === undefined) throw new TypeError('A trace was created without its queue entry');
        const logger = createLogger('error', redactor);
        const parts = { environments, pool, store, queue, leases, cancels, models, agents, logger, worker };
        await executeLease(lease, interrupt, parts);
        const trace = await store.trace(traceId);
        if (trace === undefined) throw new Error(`Trace ${traceId} is gone: it was deleted while it ran.`);
        if (trace.status === 'queued' || trace.status === 'running') note(describeTaken(trace));
        return trace;
      } finally {
        stop.removeEventListener('abort', cancel);
        unsubscribe();
      }
    },
    async [Symbol.asyncDispose]() {
      cancels.close();
      await leases.close();
      await pool.close();
    },
  };
}

/** It has not ended, since it is not this process any more that plays it. */
function describeTaken({ trace_url }: Trace): string {
  const why = `this process did not renew its lease for ${LEASE.durationMs / 1_000} s`;
  return `Another worker of this database has taken the run over, because ${why}. It goes on there: ${trace_url}`;
}
