import type { Report } from '../contract/evaluation.ts';
import type { Database } from '../database/database.ts';

/**
 * A report for each model, in the order of the evaluation's models; of one that has not ended, over what has ended.
 *
 * @throws ApiError evaluation_not_found, also for one that is deleted meanwhile.
 */
export async function readReports(_database: Database, _evaluationId: string): Promise<readonly Report[]> {
  throw new Error('not built yet');
}
