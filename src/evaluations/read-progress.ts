import type { Progress } from '../contract/evaluation.ts';
import type { Database } from '../database/database.ts';

/**
 * How far an evaluation is. The attempts of one that has ended are all done: those that never began are `over_budget`
 * where it is completed, `cancelled` where it is cancelled.
 *
 * @throws ApiError evaluation_not_found
 */
export async function readProgress(_database: Database, _evaluationId: string): Promise<Progress> {
  throw new Error('not built yet');
}
