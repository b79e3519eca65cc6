import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { DatabaseSchema } from '../database/schema.ts';

/** Stores bytes once by their content. @returns their SHA-256, hex. */
export async function putBlob(queries: Kysely<DatabaseSchema>, bytes: Uint8Array, mimeType: string): Promise<string> {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const known = await queries.selectFrom('blobs').select('sha256').where('sha256', '=', sha256).executeTakeFirst();
  if (known !== undefined) return sha256;
  await queries
    .insertInto('blobs')
    .values({ sha256, mime_type: mimeType, bytes })
    .onConflict((conflict) => conflict.column('sha256').doNothing())
    .execute();
  return sha256;
}

export async function readBlob(
  queries: Kysely<DatabaseSchema>,
  sha256: string,
): Promise<{ readonly bytes: Uint8Array; readonly mimeType: string } | undefined> {
  const row = await queries
    .selectFrom('blobs')
    .select(['bytes', 'mime_type'])
    .where('sha256', '=', sha256)
    .executeTakeFirst();
  return row && { bytes: row.bytes, mimeType: row.mime_type };
}
