import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { UsageGroup, UsageGroupBy } from '../contract/figures.ts';
import type { DatabaseSchema } from '../database/schema.ts';
import { DAY_MS } from './daily-figures.ts';
import { type Condition, toFigureParts } from './figure-parts.ts';

export interface UsageQuery {
  readonly account: string;
  /** When the traces were created: milliseconds since 1970, both inclusive. */
  readonly since?: number;
  readonly until?: number;
  readonly groupBy?: UsageGroupBy;
}

/** What the traces of an account that have ended have used, deleted ones too. Days come oldest first, other groups by their tokens. */
export async function readUsage(queries: Kysely<DatabaseSchema>, query: UsageQuery): Promise<UsageGroup[]> {
  const { account, since, until, groupBy } = query;
  const { days, outcomes } = toFigureParts(
    { account, ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) },
    { groupBy: dimensionOf(groupBy) },
  );
  const parts = [
    ...(days === undefined ? [] : [sumOf(DAILY, groupBy, days)]),
    ...outcomes.map((condition) => sumOf(OUTCOMES, groupBy, condition)),
  ];
  const { rows } = await sql<Sums>`
    select part.grouped as grouped, sum(part.runs) as runs, sum(part.model_calls) as model_calls,
      sum(part.prompt_tokens) as prompt_tokens, sum(part.completion_tokens) as completion_tokens,
      sum(part.total_tokens) as total_tokens, sum(part.ms) as ms
    from (${sql.join(parts, sql` union all `)}) as part group by part.grouped`.execute(queries);
  // Without a group it is one row, of nothing too.
  const found = rows.length === 0 && groupBy === undefined ? [NOTHING] : rows;
  const names = groupBy === 'key' ? await keyNames(queries, account) : undefined;
  const groups = found.map(({ grouped, ms, ...figures }): UsageGroup => {
    const name = grouped === null ? null : groupBy === 'day' ? toDay(Number(grouped)) : String(grouped);
    return {
      group: name,
      ...(names === undefined ? {} : { key_name: name === null ? null : (names.get(name) ?? null) }),
      runs: Number(figures.runs),
      model_calls: Number(figures.model_calls),
      prompt_tokens: Number(figures.prompt_tokens),
      completion_tokens: Number(figures.completion_tokens),
      total_tokens: Number(figures.total_tokens),
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

/** Rows of either table, called `row`, added up by group. */
function sumOf(table: RawBuilder<unknown>, groupBy: UsageGroupBy | undefined, condition: Condition) {
  const isDaily = table === DAILY;
  const group = isDaily ? dailyGroup(groupBy) : outcomeGroup(groupBy);
  const grouping = groupBy === undefined ? sql`having count(*) > 0` : sql`group by ${group}`;
  return sql`
    select ${group} as grouped, ${isDaily ? sql`sum(row.used_runs)` : sql`count(*)`} as runs,
      sum(row.used_model_calls) as model_calls, sum(row.used_prompt_tokens) as prompt_tokens,
      sum(row.used_completion_tokens) as completion_tokens, sum(row.used_total_tokens) as total_tokens,
      sum(row.used_ms) as ms
    from ${table} as row where ${condition} ${grouping}`;
}

const DAILY = sql`daily_figures`;
const OUTCOMES = sql`outcomes`;

function dailyGroup(groupBy: UsageGroupBy | undefined): RawBuilder<unknown> {
  if (groupBy === undefined) return NO_GROUP;
  if (groupBy === 'key') return sql`nullif(row.key_id, '')`;
  return groupBy === 'env' ? sql`row.env_name` : sql.ref(`row.${groupBy}`);
}

function outcomeGroup(groupBy: UsageGroupBy | undefined): RawBuilder<unknown> {
  switch (groupBy) {
    case undefined:
      return NO_GROUP;
    case 'day':
      // Of integers: the number of the day since 1970, in UTC.
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

function dimensionOf(groupBy: UsageGroupBy | undefined): 'model' | 'env_name' | 'key_id' | undefined {
  if (groupBy === 'model') return 'model';
  if (groupBy === 'env') return 'env_name';
  return groupBy === 'key' ? 'key_id' : undefined;
}

function toDay(number: number): string {
  return new Date(number * DAY_MS).toISOString().slice(0, 10);
}

/** Those of revoked keys too. */
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
