import type { Kysely, Selectable } from 'kysely';
import { z } from 'zod';
import { ApiError } from '../../../contract/errors.ts';
import {
  CHECK_ID_PATTERN,
  type CheckFinding,
  type FindingLevel,
  type FindingName,
  type StoredCheck,
} from '../../../contract/service/check.ts';
import { fitting } from '../../../contract/service/page-budget.ts';
import type { Database } from '../../../store/database/database.ts';
import { parsePageCursor, parsePageLimit, toPageCursor } from '../../../store/database/page-cursor.ts';
import type {
  CheckEnvironmentsTable,
  CheckFindingsTable,
  ChecksTable,
} from '../../../store/database/tables/create-checks.ts';
import type { DatabaseSchema } from '../../../store/database/tables/schema.ts';

export interface FindingsQuery {
  /** Only environments and findings of this name. */
  readonly env_name?: string | undefined;
  readonly level?: FindingLevel | undefined;
  readonly finding?: FindingName | undefined;
  /** 1 to 1,000 findings, default 1,000. */
  readonly limit?: number | undefined;
  /** The `next_cursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** Address of a report for its owner. */
export interface ReportAddress {
  readonly account: string;
  readonly checkId: string;
  /** Address of the pages, without a slash at the end. */
  readonly appUrl: string;
}

const LIMIT = { default: 1_000, minimum: 1, maximum: 1_000 } as const;

/**
 * A report with a page of its findings: errors of all environments, then warnings, then notes. Deleted traces are left
 * out.
 *
 * @throws ApiError check_not_found; invalid_parameter for a limit or cursor that is not one of this list.
 */
export async function readReport(
  { kysely }: Database,
  { account, checkId, appUrl }: ReportAddress,
  query: FindingsQuery = {},
): Promise<StoredCheck> {
  const check = await findReport(kysely, account, checkId);
  const { cursor, limit: given, ...filters } = query;
  const limit = parsePageLimit(given, LIMIT);
  const list = ['check', checkId, Object.entries(filters).sort()];
  const from = cursor === undefined ? 0 : parsePageCursor(cursor, list, z.int().min(0).max(MAX_INDEX));
  const environments = await readEnvironments(kysely, checkId, filters.env_name);
  const rows = await readFindings(kysely, { checkId, account, from, limit: limit + 1, filters });
  // If it was deleted meanwhile, fail: half of a report would look like a good one.
  await findReport(kysely, account, checkId);
  const page = fitting(rows.slice(0, limit), ({ body }) => Buffer.byteLength(body));
  const next = rows[page.length];
  return {
    object: 'check',
    ...toIdentity(check, appUrl),
    environments: environments.map(({ environment_index, name, may_share_process, scenarios, tried, counts }) => ({
      name,
      may_share_process: toAdvice(may_share_process),
      scenarios: JSON.parse(scenarios),
      tried: tried === null ? [] : JSON.parse(tried),
      counts: JSON.parse(counts),
      findings: page.filter((row) => row.environment_index === environment_index).map(toFinding),
    })),
    counts: JSON.parse(check.counts),
    next_cursor: next === undefined ? null : toPageCursor(list, next.finding_index),
  };
}

/** Largest integer of Postgres. */
const MAX_INDEX = 2 ** 31 - 1;

/** @throws ApiError check_not_found, also for a report of another account. */
export async function findReport(
  queries: Kysely<DatabaseSchema>,
  account: string,
  checkId: string,
): Promise<Selectable<ChecksTable>> {
  const check = CHECK_ID_PATTERN.test(checkId)
    ? await queries
        .selectFrom('checks')
        .selectAll()
        .where('check_id', '=', checkId)
        .where('account', '=', account)
        .executeTakeFirst()
    : undefined;
  if (check !== undefined) return check;
  const shown = JSON.stringify(checkId.slice(0, 100));
  throw new ApiError(
    'check_not_found',
    `There is no report of a check ${shown}. GET /v1/checks lists those of this account.`,
  );
}

/** The fields that identify a report. */
export function toIdentity({ check_id, created_at }: Selectable<ChecksTable>, appUrl: string) {
  const at = new Date(Number(created_at)).toISOString();
  return { check_id, check_url: toCheckUrl(appUrl, check_id), created_at: at };
}

/** The page of a report. */
export function toCheckUrl(appUrl: string, checkId: string): string {
  return `${appUrl}/checks/${checkId}`;
}

/** True if sessions can share a process; null if unknown. */
export function toAdvice(stored: number | null): boolean | null {
  return stored === null ? null : Number(stored) === 1;
}

async function readEnvironments(
  queries: Kysely<DatabaseSchema>,
  checkId: string,
  name: string | undefined,
): Promise<readonly Selectable<CheckEnvironmentsTable>[]> {
  const rows = queries.selectFrom('check_environments').selectAll().where('check_id', '=', checkId);
  return await (name === undefined ? rows : rows.where('name', '=', name)).orderBy('environment_index').execute();
}

interface FindingsPlan {
  readonly checkId: string;
  readonly account: string;
  /** Index of the first finding. */
  readonly from: number;
  readonly limit: number;
  readonly filters: Pick<FindingsQuery, 'env_name' | 'level' | 'finding'>;
}

async function readFindings(
  queries: Kysely<DatabaseSchema>,
  { checkId, account, from, limit, filters: { env_name, level, finding } }: FindingsPlan,
): Promise<readonly Selectable<CheckFindingsTable>[]> {
  let rows = queries
    .selectFrom('check_findings as row')
    .leftJoin('traces as trace', (join) =>
      join.onRef('trace.trace_id', '=', 'row.trace_id').on('trace.account', '=', account),
    )
    .select(['row.check_id', 'finding_index', 'environment_index', 'finding', 'level', 'body', 'trace.trace_id'])
    .where('row.check_id', '=', checkId)
    .where('finding_index', '>=', from);
  if (level !== undefined) rows = rows.where('level', '=', level);
  if (finding !== undefined) rows = rows.where('finding', '=', finding);
  if (env_name !== undefined) {
    rows = rows.where(({ eb, selectFrom }) =>
      eb(
        'environment_index',
        'in',
        selectFrom('check_environments')
          .select('check_environments.environment_index')
          .where('check_environments.check_id', '=', checkId)
          .where('check_environments.name', '=', env_name),
      ),
    );
  }
  return await rows.orderBy('finding_index').limit(limit).execute();
}

/** Reads a row without checks, because only this package writes them. */
function toFinding({ finding, level, body, trace_id }: Selectable<CheckFindingsTable>): CheckFinding {
  // Older reports have no `untried`.
  return { finding, level, untried: false, ...JSON.parse(body), trace_id };
}
