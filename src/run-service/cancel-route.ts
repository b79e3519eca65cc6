import type { Logger } from 'pino';
import { ApiError } from '../contract/errors.ts';
import { traceSchema } from '../contract/trace.ts';
import { accountOf } from '../http/api-keys.ts';
import { defineRoute, type Route } from '../http/route.ts';
import type { RunQueue } from '../queue/run-queue.ts';
import { CANCELLED } from '../rollout/run-endings.ts';
import { isFinal } from '../trace/trace-heads.ts';
import { AttemptSupersededError, type TraceRow, type TraceStore } from '../trace/trace-store.ts';
import { findRow, findTrace } from '../trace-routes/traces-route.ts';

export interface CancelRouteOptions {
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly logger: Logger;
  /** Tells a worker of this process, which then need not wait for its next look at the row. */
  cancelHere(traceId: string): void;
}

/**
 * `POST /v1/traces/{trace_id}/cancel`. A queued run is cancelled at once, and its entry taken out of the queue; a running
 * one is ended by its worker, within seconds.
 */
export function createCancelRoute({ store, queue, logger, cancelHere }: CancelRouteOptions): Route {
  return defineRoute({
    method: 'POST',
    path: '/v1/traces/:trace_id/cancel',
    summary: 'Cancel a run that is queued or running',
    access: 'key-or-browser',
    response: traceSchema,
    about: { errors: ['trace_not_found', 'run_finished'] },
    async handle({ params, caller }) {
      const row = await findRow(store, params.trace_id, accountOf(caller));
      if (isFinal(row)) throw runFinished(row);
      const isEnded = row.status === 'queued' && (await cancelQueued(store, row));
      if (!isEnded && !(await store.requestCancel(row.traceId))) {
        throw runFinished((await store.row(row.traceId)) ?? row);
      }
      if (isEnded) {
        // A worker drops an entry whose run has ended: it is out of the queue only sooner.
        await queue.withdraw(row.traceId).catch((error: unknown) => {
          logger.warn({ traceId: row.traceId, err: error }, 'The entry of a cancelled run stays in the queue for now');
        });
      }
      cancelHere(row.traceId); // A queued one too: a worker may have taken it in the meantime.
      return { body: await findTrace(store, row.traceId, row.account) };
    },
  });
}

/** @returns false when a worker took the run in the meantime. */
async function cancelQueued(store: TraceStore, row: TraceRow): Promise<boolean> {
  try {
    await store.append(row.traceId, row.attempt, [CANCELLED]);
    return true;
  } catch (error) {
    if (error instanceof AttemptSupersededError) return false;
    throw error;
  }
}

function runFinished(row: TraceRow): ApiError {
  return new ApiError('run_finished', `The run of trace ${row.traceId} is over: it is ${row.status}.`);
}
