import type { Database, DatabaseTransaction } from '../database/database.ts';
import { isReferenceBroken } from '../database/is-reference-broken.ts';
import { UNFINISHED } from './trace-rows.ts';

/** A blob gets a reference in the moment in which it would be removed: very rare, and the next try sees it. */
const MAX_TRIES = 3;

/**
 * Deletes a finished trace: events, metadata and references to blobs go with its row, and the blobs that nobody refers
 * to any more. A blob and what refers to it are written in one transaction, and the database refuses to remove a blob
 * that is referred to: a new reference that is made meanwhile keeps it.
 *
 * @returns false where there is no such trace, or where it is not finished.
 */
export async function removeTrace(database: Database, traceId: string): Promise<boolean> {
  return (await removeTraces(database, [traceId])) === 1;
}

/** The same for several, in one transaction. @returns how many were there and finished. */
export async function removeTraces(database: Database, traceIds: readonly string[]): Promise<number> {
  for (let tries = 1; ; tries++) {
    try {
      return await database.transaction(async (transaction) => {
        let removed = 0;
        for (const traceId of traceIds) if (await removeOnce(transaction, traceId)) removed += 1;
        return removed;
      });
    } catch (error) {
      if (tries === MAX_TRIES || !isReferenceBroken(error)) throw error;
    }
  }
}

async function removeOnce(transaction: DatabaseTransaction, traceId: string): Promise<boolean> {
  const references = await transaction
    .selectFrom('trace_blobs')
    .select('sha256')
    .where('trace_id', '=', traceId)
    .execute();
  const row = await transaction
    .deleteFrom('traces')
    .where('trace_id', '=', traceId)
    .where('status', 'not in', UNFINISHED)
    .returning('origin')
    .executeTakeFirst();
  if (row === undefined) return false;
  // Outcomes stay for the account's usage, which those of checks are no part of.
  if (row.origin === 'check') await transaction.deleteFrom('outcomes').where('trace_id', '=', traceId).execute();
  else await transaction.updateTable('outcomes').set({ is_deleted: 1 }).where('trace_id', '=', traceId).execute();
  for (const { sha256 } of references) await removeUnreferencedBlob(transaction, sha256);
  return true;
}

async function removeUnreferencedBlob(transaction: DatabaseTransaction, sha256: string): Promise<void> {
  await transaction
    .deleteFrom('blobs')
    .where('sha256', '=', sha256)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('trace_blobs').select('trace_blobs.sha256').whereRef('trace_blobs.sha256', '=', 'blobs.sha256'),
        ),
      ),
    )
    .execute();
}
