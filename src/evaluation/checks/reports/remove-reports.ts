import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../../../store/database/database.ts';
import type { DatabaseSchema } from '../../../store/database/tables/schema.ts';
import { findReport } from './read-report.ts';

/** Selects reports of all accounts to delete. */
export interface PruneReportsQuery {
  /** Only reports made before this time, in milliseconds since 1970. */
  readonly before?: number;
  /** Number of the newest reports to keep at any age. */
  readonly keepLast?: number;
}

/** Reports per statement, so that other writers get their turn. A report may have thousands of findings. */
const BATCH = 5;

/** Deletes a report. Its traces stay. @throws ApiError check_not_found, for a report of another account too. */
export async function removeReport({ kysely }: Database, account: string, checkId: string): Promise<void> {
  await findReport(kysely, account, checkId);
  await kysely.deleteFrom('checks').where('check_id', '=', checkId).execute();
}

export async function countPrunableReports({ kysely }: Database, query: PruneReportsQuery): Promise<number> {
  const condition = await conditionOf(kysely, query);
  const { count } = await kysely
    .selectFrom('checks')
    .where(condition)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/**
 * Deletes reports, oldest first. If the signal is aborted, the deletions so far stay.
 *
 * @returns the number of deleted reports.
 */
export async function pruneReports(
  { kysely }: Database,
  query: PruneReportsQuery,
  signal: AbortSignal,
): Promise<number> {
  const condition = await conditionOf(kysely, query);
  let removed = 0;
  while (!signal.aborted) {
    const rows = await kysely
      .deleteFrom('checks')
      .where('check_id', 'in', ({ selectFrom }) =>
        selectFrom('checks').select('check_id').where(condition).orderBy('created_at').orderBy('check_id').limit(BATCH),
      )
      .returning('check_id')
      .execute();
    removed += rows.length;
    if (rows.length < BATCH) break;
  }
  return removed;
}

async function conditionOf(
  queries: Kysely<DatabaseSchema>,
  { before, keepLast = 0 }: PruneReportsQuery,
): Promise<RawBuilder<SqlBool>> {
  const conditions = [sql<SqlBool>`1 = 1`];
  if (before !== undefined) conditions.push(sql<SqlBool>`created_at < ${before}`);
  if (keepLast > 0) {
    const oldestKept = await queries
      .selectFrom('checks')
      .select(['created_at', 'check_id'])
      .orderBy('created_at', 'desc')
      .orderBy('check_id', 'desc')
      .limit(1)
      .offset(keepLast - 1)
      .executeTakeFirst();
    conditions.push(
      oldestKept === undefined
        ? sql<SqlBool>`1 = 0`
        : sql<SqlBool>`(created_at, check_id) < (${oldestKept.created_at}, ${oldestKept.check_id})`,
    );
  }
  return sql.join<SqlBool>(conditions, sql` and `);
}
