import type { LimitChange } from '../contract/evaluation.ts';
import type { Database } from '../database/database.ts';

/** Changes that one answer holds; of more, the latest. */
const MAX_CHANGES = 1_000;

export interface LimitHistoryQuery {
  readonly models: readonly string[];
  /** Milliseconds since 1970, both inclusive: while the evaluation ran. */
  readonly since: number;
  readonly until: number;
}

/** How many calls of some models were let through at once, oldest first: the `concurrency_history` of an evaluation. */
export async function readLimitHistory(
  database: Pick<Database, 'kysely'>,
  { models, since, until }: LimitHistoryQuery,
): Promise<readonly LimitChange[]> {
  if (models.length === 0) return [];
  const rows = await database.kysely
    .selectFrom('gateway_limit_changes')
    .selectAll()
    .where('model', 'in', models)
    .where('at', '>=', since)
    .where('at', '<=', until)
    .orderBy('at', 'desc')
    .orderBy('version', 'desc')
    .limit(MAX_CHANGES)
    .execute();
  return rows
    .reverse()
    .map(({ at, model, call_limit, reason }) => ({ at: new Date(at).toISOString(), model, limit: call_limit, reason }));
}
