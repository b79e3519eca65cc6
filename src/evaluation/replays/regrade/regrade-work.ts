import type { Logger } from 'pino';
import type { BackgroundJob } from '../../evaluations/scheduler.ts';
import type { RegradeParts } from './begin-replays.ts';

/** Keeps the regrade jobs of a database going, by the driver of its evaluations. */
export function createRegradeWork(parts: RegradeParts & { readonly logger: Logger }): BackgroundJob {
  const { database, logger, now } = parts;
  return {
    async drive(signal) {
      const jobs = await database.kysely
        .selectFrom('regrades')
        .select('job_id')
        .where('status', '=', 'running')
        .orderBy('created_at')
        .execute();
      if (jobs.length === 0) return false;
      const { settleRows } = await import('./settle-rows.ts');
      const { beginReplays } = await import('./begin-replays.ts');
      for (const { job_id: jobId } of jobs) {
        if (signal.aborted) break;
        try {
          await settleRows(parts, jobId, signal);
          await beginReplays(parts, jobId);
          await complete(parts, jobId, now());
        } catch (error) {
          // One job that cannot go on keeps no other from that.
          logger.error({ jobId, err: error }, 'Traces could not be graded again');
        }
      }
      return true;
    },
  };
}

async function complete({ database }: RegradeParts, jobId: string, now: number): Promise<void> {
  await database.kysely
    .updateTable('regrades')
    .set({ status: 'completed', finished_at: now })
    .where('job_id', '=', jobId)
    .where('status', '=', 'running')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('regrade_rows')
            .select('row_index')
            .where('regrade_rows.job_id', '=', jobId)
            .where('regrade_rows.state', '<>', 'done'),
        ),
      ),
    )
    .execute();
}
