import type { Database, DatabaseTransaction } from '../database/database.ts';
import { isReferenceBroken } from '../database/is-reference-broken.ts';
import { UNFINISHED } from './rows/trace-rows.ts';

/**
 * Number of tries when a blob gets a new reference while it is removed. That is very rare, and the next try sees the
 * reference.
 */
const MAX_TRIES = 3;

/**
 * Deletes a finished trace with its events, metadata and blob references, and the blobs without other references. A
 * blob and its reference are written in one transaction, and the database refuses to remove a blob with references, so
 * a new reference keeps the blob.
 *
 * @returns false when the trace does not exist or is not finished.
 */
export async function removeTrace(database: Database, traceId: string): Promise<boolean> {
  return (await removeTraces(database, [traceId])) === 1;
}

/** Deletes several traces in one transaction. @returns the number of traces that existed and were finished. */
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
  // Outcomes stay for the account's usage. Checks are not part of usage.
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
