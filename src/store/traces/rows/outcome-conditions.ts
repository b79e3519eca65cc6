import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Outcome } from '../../../contract/service/outcome.ts';
import type { TraceFilters } from './trace-filters.ts';

/** An SQL condition on a row with the alias `row`, of `traces` or of `outcomes`. */
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

/** Origins of traces that are not runs of the installation. Summaries include them only when asked for. */
const BESIDE = ['check', 'import'] as const;

/** Excludes checks and imports, unless the filter names an origin. */
export function withoutBeside({ origin }: Pick<TraceFilters, 'origin'>): Condition[] {
  return origin === undefined ? [sql<SqlBool>`${column('origin')} not in (${sql.join(BESIDE)})`] : [];
}

/** Excludes imported traces, which another installation paid for, and checks, which call no models. */
export function countedAsUsage(): Condition {
  return sql<SqlBool>`${column('origin')} not in (${sql.join(BESIDE)})`;
}

export function createdIn({ since, until }: Pick<TraceFilters, 'since' | 'until'>): Condition[] {
  return between('created_at', since, until);
}

/**
 * @param isRare true when few traces have the metadata, so that the query starts from those. Otherwise each row is
 * tested.
 */
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

/** True for rows with this outcome, written so that the index of outcomes that are not graded applies. */
export function hasOutcome(table: string, outcome: Outcome): Condition {
  const own = sql.ref(`${table}.outcome`);
  return outcome === 'graded'
    ? sql<SqlBool>`${own} = ${outcome}`
    : sql<SqlBool>`${own} = ${outcome} and ${own} <> 'graded'`;
}

/** Conditions on columns that only `traces` has. */
export function traceConditions({ evaluationId, taskId, attemptIndex, outcome, parent }: TraceFilters): Condition[] {
  return [
    ...(parent === undefined ? [] : [sql<SqlBool>`${column('parent_trace_id')} = ${parent}`]),
    ...(evaluationId === undefined ? [] : [sql<SqlBool>`${column('evaluation_id')} = ${evaluationId}`]),
    ...(taskId === undefined ? [] : [sql<SqlBool>`${column('task_id')} = ${taskId}`]),
    ...(attemptIndex === undefined ? [] : [sql<SqlBool>`${column('attempt_index')} = ${attemptIndex}`]),
    ...(outcome === undefined ? [] : [hasOutcome('row', outcome)]),
  ];
}

/** The same conditions for rows of `outcomes`, through their traces. */
export function ofTracesWith(filters: TraceFilters): Condition[] {
  const conditions = traceConditions(filters);
  if (conditions.length === 0) return [];
  const owner = filters.account === undefined ? [] : [sql<SqlBool>`${column('account')} = ${filters.account}`];
  const found = sql`select row.trace_id from traces as row where ${and(...owner, ...conditions)}`;
  return [sql<SqlBool>`${column('trace_id')} in (${found})`];
}

/** Conditions on rewards in rows of `outcomes`. */
export function rewardConditions({ minReward, maxReward, grades }: TraceFilters): Condition[] {
  const { reward } = rewardColumns(grades);
  return [
    ...(minReward === undefined ? [] : [sql<SqlBool>`${reward} >= ${minReward}`]),
    ...(maxReward === undefined ? [] : [sql<SqlBool>`${reward} <= ${maxReward}`]),
  ];
}

/** Reward and bin of a row of `outcomes`: those of the run, or of the newest grade for `grades=current`. */
export function rewardColumns(grades: TraceFilters['grades']) {
  const own = { reward: sql<number | null>`${column('reward')}`, bin: sql<number>`${column('reward_bin')}` };
  if (grades !== 'current') return own;
  return {
    reward: sql<number | null>`coalesce(${column('grade_reward')}, ${own.reward})`,
    bin: sql<number>`coalesce(${column('grade_bin')}, ${own.bin})`,
  };
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
