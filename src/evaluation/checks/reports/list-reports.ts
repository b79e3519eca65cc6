import type { Selectable } from 'kysely';
import type { CheckList, CheckSummary } from '../../../contract/service/check.ts';
import { fitting, sizeOf } from '../../../contract/service/page-budget.ts';
import type { Database } from '../../../store/database/database.ts';
import { type ListQuery, readNewestFirst } from '../../../store/database/newest-first.ts';
import type { ChecksTable } from '../../../store/database/tables/create-checks.ts';
import { toAdvice, toIdentity } from './read-report.ts';

export interface ReportsQuery extends ListQuery {
  /** Only reports with an environment of this name. */
  readonly env_name?: string | undefined;
}

/**
 * One page of the reports of an account, newest first, without scenarios and findings.
 *
 * @throws ApiError invalid_parameter for a limit or cursor that is not one of this list.
 */
export async function listReports(
  database: Database,
  { account, appUrl }: { readonly account: string; readonly appUrl: string },
  { env_name, ...query }: ReportsQuery = {},
): Promise<CheckList> {
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
  const page = await readNewestFirst(rows, { id: 'check_id', list: ['checks', account, env_name ?? null], query });
  const data = fitting(await withEnvironments(database, page.rows, appUrl), sizeOf);
  // A report that was deleted meanwhile has lost its environments first.
  const whole = data.filter(({ environments }) => environments.length > 0);
  return { object: 'list', data: whole, next_cursor: page.nextCursor(data.length) };
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
