import { type Kysely, sql } from 'kysely';
import type { JsonObject } from '../../contract/json.ts';
import type { DatasetFilter, DatasetSource } from '../../contract/service/dataset.ts';
import type { DatabaseSchema } from '../../store/database/tables/schema.ts';
import {
  and,
  columnConditions,
  createdIn,
  metadataConditions,
  rewardConditions,
  traceConditions,
} from '../../store/traces/rows/outcome-conditions.ts';
import type { TraceFilters } from '../../store/traces/rows/trace-filters.ts';

type Queries = Kysely<DatabaseSchema>;

/** Ids per query: few enough for memory, and enough to need few queries. */
const IDS_AT_ONCE = 50_000;
export const ROWS_AT_ONCE = 400;

/** The row of a source's trace. */
export interface SourceRow {
  readonly trace_id: string;
  readonly created_at: number;
  readonly origin: string;
  readonly status: string;
  /** Null for a trace that is unfinished, or is older than the column. */
  readonly outcome: string | null;
  readonly reward: number | null;
  readonly is_superseded: number;
  readonly env_name: string;
  readonly scenario_name: string;
  readonly evaluation_id: string | null;
  readonly task_id: string | null;
  /** JSON of the request. */
  readonly request: string;
}

/** Arguments as they were asked for: a trace has no secrets any more. */
export function argumentsOf({ request }: Pick<SourceRow, 'request'>): JsonObject {
  return (JSON.parse(request) as { readonly scenario_args: JsonObject }).scenario_args;
}

/** The traces of a source in batches, oldest first. An evaluation that is named twice is read once. */
export async function* selectRows(
  queries: Queries,
  account: string,
  from: DatasetSource,
  signal: AbortSignal,
): AsyncGenerator<readonly SourceRow[], void> {
  for (const filters of filtersOf(account, from)) {
    for await (const ids of selectIds(queries, filters)) {
      for (let at = 0; at < ids.length; at += ROWS_AT_ONCE) {
        signal.throwIfAborted();
        yield await readRows(queries, ids.slice(at, at + ROWS_AT_ONCE));
      }
    }
  }
}

function filtersOf(account: string, from: DatasetSource): readonly TraceFilters[] {
  if ('filter' in from) return [{ ...toTraceFilters(from.filter), account }];
  return [...new Set(from.evaluations)].map((evaluationId) => ({ account, evaluationId }));
}

function toTraceFilters(filter: DatasetFilter): TraceFilters {
  const { env_name, scenario_name, model, status, origin, min_reward, max_reward, since, until, metadata } = filter;
  return {
    ...(env_name === undefined ? {} : { envName: env_name }),
    ...(scenario_name === undefined ? {} : { scenarioName: scenario_name }),
    ...(model === undefined ? {} : { model }),
    ...(status === undefined ? {} : { status }),
    ...(origin === undefined ? {} : { origin }),
    ...(min_reward === undefined ? {} : { minReward: min_reward }),
    ...(max_reward === undefined ? {} : { maxReward: max_reward }),
    ...(since === undefined ? {} : { since: Date.parse(since) }),
    ...(until === undefined ? {} : { until: Date.parse(until) }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

async function* selectIds(queries: Queries, filters: TraceFilters): AsyncGenerator<readonly string[], void> {
  let after: { readonly created_at: number; readonly trace_id: string } | undefined;
  for (;;) {
    const beyond =
      after === undefined
        ? []
        : [sql<boolean>`(row.created_at, row.trace_id) > (${after.created_at}, ${after.trace_id})`];
    const rows = await queries
      .selectFrom('traces as row')
      .select(['row.trace_id', 'row.created_at'])
      .where(
        and(
          ...columnConditions(filters),
          ...createdIn(filters),
          ...metadataConditions(filters, false),
          ...rewardConditions(filters),
          ...traceConditions(filters),
          ...beyond,
        ),
      )
      .orderBy('row.created_at')
      .orderBy('row.trace_id')
      .limit(IDS_AT_ONCE)
      .execute();
    yield rows.map(({ trace_id }) => trace_id);
    after = rows.at(-1);
    if (rows.length < IDS_AT_ONCE) return;
  }
}

/** Rows in the order of the ids. Ids without a trace are left out. */
export async function readRows(queries: Queries, ids: readonly string[]): Promise<readonly SourceRow[]> {
  if (ids.length === 0) return [];
  const rows = await queries
    .selectFrom('traces')
    .select(['trace_id', 'created_at', 'origin', 'status', 'outcome', 'reward', 'is_superseded'])
    .select(['env_name', 'scenario_name', 'evaluation_id', 'task_id', 'request'])
    .where('trace_id', 'in', ids)
    .execute();
  const byId = new Map(rows.map((row) => [row.trace_id, { ...row, created_at: Number(row.created_at) }]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
