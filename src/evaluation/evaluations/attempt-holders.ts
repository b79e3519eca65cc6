import type { Database } from '../../store/database/database.ts';

/** A process that executes attempts of an evaluation. */
export interface AttemptHolder {
  readonly pid: number;
  /** Number of attempts that it executes. */
  readonly attempts: number;
}

/**
 * The other processes whose workers execute attempts of an evaluation, read from the workers' names. A queue on Redis
 * tells this process only about parked entries.
 */
export async function readAttemptHolders(
  { kysely }: Database,
  evaluationId: string,
): Promise<readonly AttemptHolder[]> {
  const rows = await kysely
    .selectFrom('queue')
    .innerJoin('traces', 'traces.trace_id', 'queue.trace_id')
    .select(({ fn }) => ['queue.leased_by', fn.countAll<number>().as('attempts')])
    .where('traces.evaluation_id', '=', evaluationId)
    .where('queue.lease_until', '>', Date.now())
    .groupBy('queue.leased_by')
    .execute();
  const holders = rows.map(({ leased_by, attempts }) => {
    return { pid: Number(/^[a-z]+_(\d+)/.exec(leased_by ?? '')?.[1]), attempts: Number(attempts) };
  });
  return holders.filter(({ pid }) => Number.isInteger(pid) && pid !== process.pid);
}
