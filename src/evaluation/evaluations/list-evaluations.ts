import type { Database } from '../../store/database/database.ts';
import { type ListPage, readNewestFirst } from '../../store/database/newest-first.ts';
import { DELETED, type EvaluationRow } from './evaluation-rows.ts';
import type { EvaluationQuery } from './evaluation-store.ts';

/**
 * One page of the evaluations of an account, newest first.
 *
 * @throws ApiError invalid_parameter for a limit or cursor that is not one of this list.
 */
export async function listEvaluations(
  database: Database,
  account: string,
  query: EvaluationQuery,
): Promise<ListPage<EvaluationRow>> {
  const { cursor, limit, ...filters } = query;
  let rows = database.kysely
    .selectFrom('evaluations')
    .selectAll()
    .where('account', '=', account)
    .where('status', '<>', DELETED);
  if (filters.name !== undefined) rows = rows.where('name', '=', filters.name);
  if (filters.taskset !== undefined) rows = rows.where('taskset_name', '=', filters.taskset);
  if (filters.status !== undefined) rows = rows.where('status', '=', filters.status);
  if (filters.since !== undefined) rows = rows.where('created_at', '>=', filters.since);
  if (filters.until !== undefined) rows = rows.where('created_at', '<=', filters.until);
  return await readNewestFirst(rows, {
    id: 'evaluation_id',
    list: ['evaluations', account, Object.entries(filters).sort()],
    query: { cursor, limit },
  });
}
