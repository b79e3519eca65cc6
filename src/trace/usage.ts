import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { UsageGroup, UsageGroupBy } from '../contract/figures.ts';
import type { DatabaseSchema } from '../database/schema.ts';

export interface UsageQuery {
  readonly account: string;
  /** When the traces were created: milliseconds since 1970, both inclusive. */
  readonly since?: number;
  readonly until?: number;
  readonly groupBy?: UsageGroupBy;
}

const DAY_MS = 86_400_000;

/** What the traces of an account that have ended have used, deleted ones too. Days come oldest first, other groups by their tokens. */
export async function readUsage(queries: Kysely<DatabaseSchema>, query: UsageQuery): Promise<UsageGroup[]> {
  const { account, since, until, groupBy } = query;
  let rows = queries
    .selectFrom('outcomes')
    .select(groupColumn(groupBy).as('group'))
    .select(({ fn }) => [
      fn.countAll<number>().as('runs'),
      fn.sum<number | null>('used_model_calls').as('model_calls'),
      fn.sum<number | null>('used_prompt_tokens').as('prompt_tokens'),
      fn.sum<number | null>('used_completion_tokens').as('completion_tokens'),
      fn.sum<number | null>('used_total_tokens').as('total_tokens'),
      fn.sum<number | null>('used_ms').as('ms'),
    ])
    .where('account', '=', account);
  if (since !== undefined) rows = rows.where('created_at', '>=', since);
  if (until !== undefined) rows = rows.where('created_at', '<=', until);
  // Without a group it is one row, of nothing too.
  const found = await (groupBy === undefined ? rows : rows.groupBy(groupColumn(groupBy))).execute();
  const names = groupBy === 'key' ? await keyNames(queries, account) : undefined;
  const groups = found.map(({ group, ms, ...figures }): UsageGroup => {
    const name = group === null ? null : groupBy === 'day' ? toDay(Number(group)) : String(group);
    return {
      group: name,
      ...(names === undefined ? {} : { key_name: name === null ? null : (names.get(name) ?? null) }),
      runs: Number(figures.runs),
      model_calls: Number(figures.model_calls ?? 0),
      prompt_tokens: Number(figures.prompt_tokens ?? 0),
      completion_tokens: Number(figures.completion_tokens ?? 0),
      total_tokens: Number(figures.total_tokens ?? 0),
      compute_seconds: Number(ms ?? 0) / 1_000,
    };
  });
  return groups.sort(groupBy === 'day' ? byGroup : byTokens);
}

function groupColumn(groupBy: UsageGroupBy | undefined): RawBuilder<string | number | null> {
  switch (groupBy) {
    case undefined:
      return sql<null>`null`;
    case 'day':
      // Of integers: the number of the day since 1970, in UTC.
      return sql<number>`${sql.ref('created_at')} / ${sql.lit(DAY_MS)}`;
    case 'model':
      return sql.ref<string>('model');
    case 'env':
      return sql.ref<string>('env_name');
    case 'key':
      return sql.ref<string | null>('key_id');
  }
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
