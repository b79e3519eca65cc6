import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import type { DatabaseSchema } from '../../database/schema.ts';
import { findReport } from './read-report.ts';

/** Which reports go, of all accounts. */
export interface PruneReportsQuery {
  /** Made before this, in milliseconds since 1970. */
  readonly before?: number;
  /** Number of the newest that stay whatever their age. */
  readonly keepLast?: number;
}

/** Reports of one statement: others write between two of them. A report may have thousands of findings. */
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
 * Deletes reports, the oldest first. Those that were deleted when the signal is aborted stay deleted.
 *
 * @returns how many.
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
