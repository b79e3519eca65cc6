import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { COUNTED, DAY_MS, type Dimension } from './daily-figures.ts';
import { NO_REWARD, placeOfClass, REWARD_CLASSES } from './reward-classes.ts';
import type { TraceFilters } from './trace-filters.ts';

export type Condition = RawBuilder<SqlBool>;

/** The rows that make a sum; in each condition the row is called `row`. */
export interface FigureParts {
  /** Of `daily_figures`, for whole days; undefined where they cannot tell. */
  readonly days: Condition | undefined;
  /** Of `outcomes`, one by one, for all else. No row meets two of them, or is in one of the days too. */
  readonly outcomes: readonly Condition[];
}

interface FigurePartOptions {
  readonly groupBy?: Exclude<Dimension, 'none' | 'all' | 'tag'> | undefined;
  /** Few traces have the metadata of the filter. */
  readonly isRareMetadata?: boolean;
}

/**
 * Splits what is asked for. An outcome that was counted is in the figures of its day; others are looked at, and so are
 * those of the days that a time cuts and of the classes that a range of rewards cuts.
 */
export function toFigureParts(
  filters: TraceFilters,
  { groupBy, isRareMetadata = false }: FigurePartOptions = {},
): FigureParts {
  const columns = columnConditions(filters);
  const rewards = rewardConditions(filters);
  const metadata = metadataConditions(filters, false);
  const days = wholeDays(filters);
  const dimension = dimensionOf(filters, groupBy);
  if (dimension === undefined || days === undefined) {
    const all = [...columns, ...rewards, ...createdIn(filters), ...metadataConditions(filters, isRareMetadata)];
    return { days: undefined, outcomes: [and(...all)] };
  }
  const classes = classesIn(filters);
  const counted = (...more: Condition[]) => and(isCounted, ...columns, ...rewards, ...metadata, ...more);
  const cutClasses = classes.partial.length === 0 ? [] : [counted(...inClasses(classes.partial), ...createdOn(days))];
  return {
    days: and(
      ...columns,
      sql<SqlBool>`${column('dimension')} = ${dimension}`,
      ...Object.entries(filters.metadata ?? {}).map(
        ([key, value]) => sql<SqlBool>`${column('tag_key')} = ${key} and ${column('tag_value')} = ${value}`,
      ),
      inList('reward_class', classes.inside),
      ...between('day', days.first, days.last),
    ),
    outcomes: [
      and(isNotCounted, ...columnConditions(filters, ['account']), ...rewards, ...createdIn(filters), ...metadata),
      ...cutDays(filters, days).map((span) => counted(...KEY_ORDER, ...createdIn(span))),
      ...cutClasses,
    ],
  };
}

export function and(...conditions: readonly Condition[]): Condition {
  return conditions.length === 0 ? sql<SqlBool>`1 = 1` : sql.join<SqlBool>(conditions, sql` and `);
}

/**
 * What the row of a trace, its outcome and the figures of its day have in common.
 *
 * @param unsought columns by whose index the rows are not to be looked for, because others find fewer.
 */
export function columnConditions(filters: TraceFilters, unsought: readonly string[] = []): Condition[] {
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
    return [sql<SqlBool>`${unsought.includes(name) ? sql`${column(name)} || ''` : column(name)} = ${value}`];
  });
}

export function createdIn({ since, until }: Pick<TraceFilters, 'since' | 'until'>): Condition[] {
  return between('created_at', since, until);
}

/** @param areSought the rows are looked for by these, which are few; else each row is asked for them. */
export function metadataConditions({ account, metadata = {} }: TraceFilters, areSought: boolean): Condition[] {
  const owner = account === undefined ? sql`` : sql` and tag.account = ${account}`;
  return Object.entries(metadata).map(([key, value]) =>
    areSought
      ? sql<SqlBool>`${column('trace_id')} in (
          select tag.trace_id from trace_metadata as tag where tag.key = ${key} and tag.value = ${value}${owner})`
      : sql<SqlBool>`exists (
          select 1 from trace_metadata as tag
          where tag.trace_id = ${column('trace_id')} and tag.key = ${key} and tag.value || '' = ${value})`,
  );
}

const isCounted = sql<SqlBool>`${column('is_counted')} = ${sql.lit(COUNTED)}`;
/** As the index of those says it. */
const isNotCounted = sql<SqlBool>`${column('is_counted')} <> 1 and ${column('is_counted')} in (0, 2)`;

/** All that there are: what the key of the outcomes needs said between the account and the time. */
const KEY_ORDER: readonly Condition[] = [
  inList('is_deleted', [0, 1]),
  sql<SqlBool>`${column('status')} in ('cancelled', 'completed', 'failed')`,
  inList('reward_class', [NO_REWARD, ...REWARD_CLASSES]),
];

function inClasses(classes: readonly number[]): Condition[] {
  return [
    inList('is_deleted', [0, 1]),
    sql<SqlBool>`${column('status')} = 'completed'`, // no other has a reward
    inList('reward_class', classes),
  ];
}

function rewardConditions({ minReward, maxReward }: TraceFilters): Condition[] {
  return between('reward', minReward, maxReward);
}

function classesIn({ minReward, maxReward }: TraceFilters): { readonly inside: number[]; readonly partial: number[] } {
  if (minReward === undefined && maxReward === undefined) {
    return { inside: [NO_REWARD, ...REWARD_CLASSES], partial: [] };
  }
  const placed = (place: string) =>
    REWARD_CLASSES.filter((each) => placeOfClass(each, { minReward, maxReward }) === place);
  return { inside: placed('inside'), partial: placed('partial') };
}

/** The smallest that knows all that is asked; undefined where none does. */
function dimensionOf(filters: TraceFilters, groupBy: Dimension | undefined): Dimension | undefined {
  const asked = new Set<Dimension>(groupBy === undefined ? [] : [groupBy]);
  if (filters.envName !== undefined) asked.add('env_name');
  if (filters.scenarioName !== undefined) asked.add('scenario_name');
  if (filters.model !== undefined) asked.add('model');
  if (filters.origin !== undefined) asked.add('origin');
  const keys = Object.keys(filters.metadata ?? {});
  if (keys.length > 0) return keys.length === 1 && asked.size === 0 ? 'tag' : undefined;
  const [first = 'none', ...others] = asked;
  return others.length === 0 ? first : 'all';
}

/** Both inclusive; undefined where there is no such end. */
interface Days {
  readonly first: number | undefined;
  readonly last: number | undefined;
}

function wholeDays({ since, until }: TraceFilters): Days | undefined {
  const first = since === undefined ? undefined : Math.ceil(since / DAY_MS);
  const last = until === undefined ? undefined : Math.floor((until + 1) / DAY_MS) - 1;
  return first !== undefined && last !== undefined && first > last ? undefined : { first, last };
}

function createdOn({ first, last }: Days): Condition[] {
  return createdIn({
    ...(first === undefined ? {} : { since: first * DAY_MS }),
    ...(last === undefined ? {} : { until: (last + 1) * DAY_MS - 1 }),
  });
}

/** What the time leaves of the days at its ends. */
function cutDays({ since, until }: TraceFilters, { first, last }: Days): Pick<TraceFilters, 'since' | 'until'>[] {
  const spans = [];
  if (since !== undefined && first !== undefined && since < first * DAY_MS) {
    spans.push({ since, until: first * DAY_MS - 1 });
  }
  if (until !== undefined && last !== undefined && (last + 1) * DAY_MS <= until) {
    spans.push({ since: (last + 1) * DAY_MS, until });
  }
  return spans;
}

function between(name: string, from: number | undefined, to: number | undefined): Condition[] {
  return [
    ...(from === undefined ? [] : [sql<SqlBool>`${column(name)} >= ${from}`]),
    ...(to === undefined ? [] : [sql<SqlBool>`${column(name)} <= ${to}`]),
  ];
}

function inList(name: string, values: readonly number[]): Condition {
  return values.length === 0
    ? sql<SqlBool>`1 = 0`
    : sql<SqlBool>`${column(name)} in (${sql.join(values.map((value) => sql.lit(value)))})`;
}

function column(name: string) {
  return sql.ref(`row.${name}`);
}
