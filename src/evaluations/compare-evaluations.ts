import type { ComparisonList } from '../contract/evaluation.ts';
import type { Database } from '../database/database.ts';

export interface ComparisonQuery {
  readonly a: string;
  readonly b: string;
  readonly aModel?: string | undefined;
  readonly bModel?: string | undefined;
}

/**
 * Compares models on the tasks that both evaluations have: those of equal names, one with one otherwise, or the two that
 * are named.
 *
 * @throws ApiError evaluation_not_found with `param` a or b; invalid_parameter with `param` a_model or b_model for a model
 *   that is not there, and where none is named and no two belong together.
 */
export async function compareEvaluations(_database: Database, _query: ComparisonQuery): Promise<ComparisonList> {
  throw new Error('not built yet');
}
