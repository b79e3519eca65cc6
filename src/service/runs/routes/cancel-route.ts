import type { Logger } from 'pino';
import { ApiError } from '../../../contract/errors.ts';
import { isEnded } from '../../../contract/service/ended.ts';
import { traceSchema } from '../../../contract/service/trace.ts';
import { CANCELLED } from '../../../rollout/session/run-endings.ts';
import type { RunQueue } from '../../../store/queue/run-queue.ts';
import { AttemptSupersededError, type TraceRow, type TraceStore } from '../../../store/traces/trace-store.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../../../support/http/api/route.ts';
import { findRow, findTrace } from '../../traces/traces-route.ts';

export interface CancelRouteOptions {
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly logger: Logger;
  /** Tells a worker of this process at once, so that it need not wait for its next poll. */
  cancelHere(traceId: string): void;
}

/**
 * `POST /v1/traces/{trace_id}/cancel`. A queued run is cancelled at once and removed from the queue. The worker of a
 * running one ends it within seconds.
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
      if (isEnded(row.status)) throw runFinished(row);
      const isCancelled = row.status === 'queued' && (await cancelQueued(store, row));
      if (!isCancelled && !(await store.requestCancel(row.traceId))) {
        throw runFinished((await store.row(row.traceId)) ?? row);
      }
      if (isCancelled) {
        // Optional: a worker drops the entry of an ended run anyway.
        await queue.withdraw(row.traceId).catch((error: unknown) => {
          logger.warn({ traceId: row.traceId, err: error }, 'The entry of a cancelled run stays in the queue for now');
        });
      }
      cancelHere(row.traceId); // Also for a queued run, since a worker may have taken it in the meantime.
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
