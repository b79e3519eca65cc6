import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { TraceFilters } from './trace-filters.ts';

/** A condition on a row called `row`, of `traces` or of `outcomes`. */
export type Condition = RawBuilder<SqlBool>;

export function and(...conditions: readonly Condition[]): Condition {
  return conditions.length === 0 ? sql<SqlBool>`1 = 1` : sql.join<SqlBool>(conditions, sql` and `);
}

/**
 * Conditions on the columns that `traces` and `outcomes` both have.
 *
 * @param unindexed columns whose index must not be used, because another index finds fewer rows.
 */
export function columnConditions(filters: TraceFilters, unindexed: readonly string[] = []): Condition[] {
  const values = {
    account: filters.account,
    env_name: filters.envName,
    scenario_name: filters.scenarioName,
    model: filters.model,
    status: filters.status,
    origin: filters.origin,
  };
  return Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return [sql<SqlBool>`${unindexed.includes(name) ? sql`${column(name)} || ''` : column(name)} = ${value}`];
  });
}

export function createdIn({ since, until }: Pick<TraceFilters, 'since' | 'until'>): Condition[] {
  return between('created_at', since, until);
}

/** @param isRare few traces have the metadata: the rows are found by it. Otherwise each row is checked for it. */
export function metadataConditions({ account, metadata = {} }: TraceFilters, isRare: boolean): Condition[] {
  const owner = account === undefined ? sql`` : sql` and tag.account = ${account}`;
  return Object.entries(metadata).map(([key, value]) =>
    isRare
      ? sql<SqlBool>`${column('trace_id')} in (
          select tag.trace_id from trace_metadata as tag where tag.key = ${key} and tag.value = ${value}${owner})`
      : sql<SqlBool>`exists (
          select 1 from trace_metadata as tag
          where tag.trace_id = ${column('trace_id')} and tag.key = ${key} and tag.value || '' = ${value})`,
  );
}

export function rewardConditions({ minReward, maxReward }: TraceFilters): Condition[] {
  return between('reward', minReward, maxReward);
}

function between(name: string, from: number | undefined, to: number | undefined): Condition[] {
  return [
    ...(from === undefined ? [] : [sql<SqlBool>`${column(name)} >= ${from}`]),
    ...(to === undefined ? [] : [sql<SqlBool>`${column(name)} <= ${to}`]),
  ];
}

function column(name: string) {
  return sql.ref(`row.${name}`);
}
