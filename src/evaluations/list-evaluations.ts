import { z } from 'zod';
import type { Database } from '../database/database.ts';
import { parsePageCursor, parsePageLimit, toPageCursor } from '../database/page-cursor.ts';
import { DELETED, type EvaluationRow } from './evaluation-rows.ts';
import type { EvaluationQuery } from './evaluation-store.ts';

/** Evaluations of a page. */
const LIMIT = { default: 50, minimum: 1, maximum: 100 } as const;

const positionSchema = z.tuple([z.int(), z.string()]);

/**
 * One page of the evaluations of an account, newest first.
 *
 * @throws ApiError invalid_parameter for a limit or cursor that is not one of this list.
 */
export async function listEvaluations(
  database: Database,
  account: string,
  query: EvaluationQuery,
): Promise<{ readonly rows: readonly EvaluationRow[]; readonly nextCursor: string | null }> {
  const { cursor, limit: given, ...filters } = query;
  const limit = parsePageLimit(given, LIMIT);
  const list = ['evaluations', account, Object.entries(filters).sort()];
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
  if (cursor !== undefined) {
    const [createdAt, id] = parsePageCursor(cursor, list, positionSchema);
    rows = rows.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'evaluation_id'), '<', tuple(createdAt, id)),
    );
  }
  const found = await rows
    .orderBy('created_at', 'desc')
    .orderBy('evaluation_id', 'desc')
    .limit(limit + 1)
    .execute();
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return {
    rows: page,
    nextCursor: hasMore ? toPageCursor(list, [Number(last.created_at), last.evaluation_id]) : null,
  };
}
