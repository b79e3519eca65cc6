import { ApiError } from '../../../contract/errors.ts';
import { UNFINISHED } from '../../../store/traces/rows/trace-rows.ts';
import { type CancelOptions, endTraces } from '../../evaluations/cancel-attempts.ts';
import { findRegrade } from './read-regrade.ts';

/**
 * Ends a job. It starts no more replays, and queued or running ones are cancelled. Its grades stay.
 *
 * @throws ApiError regrade_not_found, or run_finished for a job that is over.
 */
export async function cancelRegrade(
  options: CancelOptions & { readonly now: () => number },
  { account, jobId }: { readonly account: string; readonly jobId: string },
): Promise<void> {
  const { database, now } = options;
  const { status } = await findRegrade(database, { account, jobId });
  const replays = await database.transaction(async (transaction) => {
    // Change the row first, because code that starts replays reads it under the same lock.
    const ended = await transaction
      .updateTable('regrades')
      .set({ status: 'cancelled', finished_at: now() })
      .where('job_id', '=', jobId)
      .where('status', '=', 'running')
      .returning('job_id')
      .executeTakeFirst();
    if (ended === undefined) return undefined;
    const running = await transaction
      .selectFrom('regrade_rows')
      .select('replay_trace_id')
      .where('job_id', '=', jobId)
      .where('state', '=', 'running')
      .execute();
    const ids = running.flatMap(({ replay_trace_id }) => replay_trace_id ?? []);
    if (ids.length === 0) return ids;
    await transaction
      .updateTable('traces')
      .set({ cancel_requested: 1 })
      .where('trace_id', 'in', ids)
      .where('status', 'in', UNFINISHED)
      .execute();
    return ids;
  });
  if (replays === undefined) throw new ApiError('run_finished', `The regrade job ${jobId} is over: it is ${status}.`);
  await endTraces(options, replays);
}
