import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { UsageGroup, UsageGroupBy } from '../../contract/service/totals.ts';
import type { DatabaseSchema } from '../database/tables/schema.ts';
import { and, columnConditions, countedAsUsage, createdIn } from './rows/outcome-conditions.ts';
import type { TraceFilters } from './rows/trace-filters.ts';

const DAY_MS = 86_400_000;

export interface UsageQuery {
  readonly account: string;
  /** Range of the traces' creation times: milliseconds since 1970, both ends inclusive. */
  readonly since?: number;
  readonly until?: number;
  readonly groupBy?: UsageGroupBy;
}

/**
 * Usage of an account's finished traces, including deleted ones. Days are sorted oldest first, other groups by tokens.
 */
export async function readUsage(queries: Kysely<DatabaseSchema>, query: UsageQuery): Promise<UsageGroup[]> {
  const { account, since, until, groupBy } = query;
  const times: TraceFilters = {
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  };
  const condition = and(...columnConditions({ account }), countedAsUsage(), ...createdIn(times));
  const group = groupOf(groupBy);
  const grouping = groupBy === undefined ? sql`having count(*) > 0` : sql`group by ${group}`;
  const { rows } = await sql<Sums>`
    select ${group} as grouped, count(*) as runs, sum(row.used_model_calls) as model_calls,
      sum(row.used_prompt_tokens) as prompt_tokens, sum(row.used_completion_tokens) as completion_tokens,
      sum(row.used_total_tokens) as total_tokens, sum(row.used_ms) as ms
    from outcomes as row where ${condition} ${grouping}`.execute(queries);
  // Without a group there is always one row, even for no traces.
  const found = rows.length === 0 && groupBy === undefined ? [NOTHING] : rows;
  const names = groupBy === 'key' ? await keyNames(queries, account) : undefined;
  const groups = found.map(({ grouped, ms, ...totals }): UsageGroup => {
    const name = grouped === null ? null : groupBy === 'day' ? toDay(Number(grouped)) : String(grouped);
    return {
      group: name,
      ...(names === undefined ? {} : { key_name: name === null ? null : (names.get(name) ?? null) }),
      runs: Number(totals.runs),
      model_calls: Number(totals.model_calls),
      prompt_tokens: Number(totals.prompt_tokens),
      completion_tokens: Number(totals.completion_tokens),
      total_tokens: Number(totals.total_tokens),
      compute_seconds: Number(ms) / 1_000,
    };
  });
  return groups.sort(groupBy === 'day' ? byGroup : byTokens);
}

interface Sums {
  readonly grouped: string | number | null;
  readonly runs: number;
  readonly model_calls: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly ms: number;
}

const NOTHING: Sums = {
  grouped: null,
  runs: 0,
  model_calls: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  ms: 0,
};

function groupOf(groupBy: UsageGroupBy | undefined): RawBuilder<unknown> {
  switch (groupBy) {
    case undefined:
      return NO_GROUP;
    case 'day':
      // Integer division gives the number of the UTC day since 1970.
      return sql`row.created_at / ${sql.lit(DAY_MS)}`;
    case 'model':
      return sql`row.model`;
    case 'env':
      return sql`row.env_name`;
    case 'key':
      return sql`row.key_id`;
  }
}

const NO_GROUP = sql`cast(null as text)`;

function toDay(number: number): string {
  return new Date(number * DAY_MS).toISOString().slice(0, 10);
}

/** Names of the account's keys, including revoked ones. */
async function keyNames(queries: Kysely<DatabaseSchema>, account: string): Promise<ReadonlyMap<string, string>> {
  const keys = await queries.selectFrom('api_keys').select(['id', 'name']).where('account', '=', account).execute();
  return new Map(keys.map(({ id, name }) => [id, name]));
}

function byGroup(a: UsageGroup, b: UsageGroup): number {
  return (a.group ?? '') < (b.group ?? '') ? -1 : 1;
}

function byTokens(a: UsageGroup, b: UsageGroup): number {
  return b.total_tokens - a.total_tokens || b.runs - a.runs || byGroup(a, b);
}
