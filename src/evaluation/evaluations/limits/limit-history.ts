import type { ResolvedModel } from '../../../contract/model.ts';
import type { LimitChange } from '../../../contract/service/evaluation.ts';
import type { Database } from '../../../store/database/database.ts';

/** Most changes in one answer; if there are more, the latest. */
const MAX_CHANGES = 1_000;

export interface LimitHistoryQuery {
  readonly models: readonly ResolvedModel[];
  /** Milliseconds since 1970, both inclusive: while the evaluation ran. */
  readonly since: number;
  readonly until: number;
}

/** The limits of some models over time, oldest first: the `concurrency_history` of an evaluation. */
export async function readLimitHistory(
  database: Pick<Database, 'kysely'>,
  { models, since, until }: LimitHistoryQuery,
): Promise<readonly LimitChange[]> {
  if (models.length === 0) return [];
  // Limits belong to the provider's model. Two names for one model share them, and the first name is shown.
  const names = new Map(models.toReversed().map(({ model, target }) => [target, model]));
  const rows = await database.kysely
    .selectFrom('gateway_limit_changes')
    .selectAll()
    .where('model', 'in', [...names.keys()])
    .where('at', '>=', since)
    .where('at', '<=', until)
    .orderBy('at', 'desc')
    .orderBy('version', 'desc')
    .limit(MAX_CHANGES)
    .execute();
  return rows.reverse().map(({ at, model, call_limit, reason }) => ({
    at: new Date(at).toISOString(),
    model: names.get(model) ?? model,
    limit: call_limit,
    reason,
  }));
}
