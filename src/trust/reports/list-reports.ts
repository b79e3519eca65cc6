import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { CheckList, CheckSummary } from '../../contract/check.ts';
import { fitting, sizeOf } from '../../contract/page-budget.ts';
import type { ChecksTable } from '../../database/create-checks.ts';
import type { Database } from '../../database/database.ts';
import { parsePageCursor, parsePageLimit, toPageCursor } from '../../database/page-cursor.ts';
import { toAdvice, toIdentity } from './read-report.ts';

export interface ReportsQuery {
  /** Reports that have an environment of this name. */
  readonly env_name?: string | undefined;
  /** 1 to 100, default 50. */
  readonly limit?: number | undefined;
  /** The `next_cursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** Reports of a page. */
const LIMIT = { default: 50, minimum: 1, maximum: 100 } as const;

const positionSchema = z.tuple([z.int(), z.string()]);

/**
 * One page of the reports of an account, newest first, without scenarios and findings.
 *
 * @throws ApiError invalid_parameter for a limit or cursor that is not one of this list.
 */
export async function listReports(
  database: Database,
  { account, appUrl }: { readonly account: string; readonly appUrl: string },
  { cursor, limit: given, env_name }: ReportsQuery = {},
): Promise<CheckList> {
  const limit = parsePageLimit(given, LIMIT);
  const list = ['checks', account, env_name ?? null];
  let rows = database.kysely.selectFrom('checks').selectAll().where('account', '=', account);
  if (env_name !== undefined) {
    rows = rows.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('check_environments')
          .select('check_environments.name')
          .whereRef('check_environments.check_id', '=', 'checks.check_id')
          .where('check_environments.name', '=', env_name),
      ),
    );
  }
  if (cursor !== undefined) {
    const [createdAt, id] = parsePageCursor(cursor, list, positionSchema);
    rows = rows.where(({ eb, refTuple, tuple }) => eb(refTuple('created_at', 'check_id'), '<', tuple(createdAt, id)));
  }
  const found = await rows
    .orderBy('created_at', 'desc')
    .orderBy('check_id', 'desc')
    .limit(limit + 1)
    .execute();
  const data = fitting(await withEnvironments(database, found.slice(0, limit), appUrl), sizeOf);
  const last = found[data.length - 1];
  const hasMore = found.length > data.length && last !== undefined;
  const nextCursor = hasMore ? toPageCursor(list, [Number(last.created_at), last.check_id]) : null;
  // One that was deleted meanwhile has lost its environments first.
  const whole = data.filter(({ environments }) => environments.length > 0);
  return { object: 'list', data: whole, next_cursor: nextCursor };
}

async function withEnvironments(
  { kysely }: Database,
  checks: readonly Selectable<ChecksTable>[],
  appUrl: string,
): Promise<readonly CheckSummary[]> {
  if (checks.length === 0) return [];
  const rows = await kysely
    .selectFrom('check_environments')
    .select(['check_id', 'name', 'may_share_process', 'counts'])
    .where(
      'check_id',
      'in',
      checks.map(({ check_id }) => check_id),
    )
    .orderBy('environment_index')
    .execute();
  const byCheck = new Map<string, (typeof rows)[number][]>(checks.map(({ check_id }) => [check_id, []]));
  for (const row of rows) byCheck.get(row.check_id)?.push(row);
  return checks.map((check) => ({
    object: 'check',
    ...toIdentity(check, appUrl),
    environments: (byCheck.get(check.check_id) ?? []).map(({ name, may_share_process, counts }) => ({
      name,
      may_share_process: toAdvice(may_share_process),
      counts: JSON.parse(counts),
    })),
    counts: JSON.parse(check.counts),
  }));
}
