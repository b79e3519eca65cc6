import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Database, DatabaseTransaction } from '../../database/database.ts';
import { isReferenceBroken } from '../../database/is-reference-broken.ts';
import type { DatabaseSchema } from '../../database/tables/schema.ts';

/** Number of tries when another process removes the blob before the reference is written. That is very rare. */
const MAX_TRIES = 3;

/**
 * Stores bytes once per content, and the trace's reference to them, in one transaction, so that no other process
 * removes the blob in between.
 *
 * @returns the SHA-256 in hex. @throws when the trace does not exist.
 */
export async function putBlob(
  database: Database,
  traceId: string,
  bytes: Uint8Array,
  mimeType: string,
): Promise<string> {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  for (let tries = 1; ; tries++) {
    try {
      await database.transaction(async (transaction) => {
        await insertBlob(transaction, traceId, { sha256, mimeType, bytes });
      });
      return sha256;
    } catch (error) {
      if (tries === MAX_TRIES || !isReferenceBroken(error)) throw error;
    }
  }
}

/** The same inside of a given transaction. */
export async function insertBlob(
  transaction: DatabaseTransaction,
  traceId: string,
  { sha256, mimeType, bytes }: { readonly sha256: string; readonly mimeType: string; readonly bytes: Uint8Array },
): Promise<void> {
  const known = await transaction.selectFrom('blobs').select('sha256').where('sha256', '=', sha256).executeTakeFirst();
  if (known === undefined) {
    await transaction
      .insertInto('blobs')
      .values({ sha256, mime_type: mimeType, bytes })
      .onConflict((conflict) => conflict.column('sha256').doNothing())
      .execute();
  }
  await transaction
    .insertInto('trace_blobs')
    .values({ trace_id: traceId, sha256 })
    .onConflict((conflict) => conflict.columns(['trace_id', 'sha256']).doNothing())
    .execute();
}

export async function readBlob(
  queries: Kysely<DatabaseSchema>,
  sha256: string,
  account?: string,
): Promise<{ readonly bytes: Uint8Array; readonly mimeType: string } | undefined> {
  const row = await queries
    .selectFrom('blobs')
    .select(['bytes', 'mime_type'])
    .where('sha256', '=', sha256)
    .$if(account !== undefined, (found) =>
      found.where(({ exists, selectFrom }) =>
        exists(
          selectFrom('trace_blobs')
            .innerJoin('traces', 'traces.trace_id', 'trace_blobs.trace_id')
            .select('trace_blobs.trace_id')
            .whereRef('trace_blobs.sha256', '=', 'blobs.sha256')
            .where('traces.account', '=', account ?? ''),
        ),
      ),
    )
    .executeTakeFirst();
  return row && { bytes: row.bytes, mimeType: row.mime_type };
}
