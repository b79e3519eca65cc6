import { sql } from 'kysely';
import { ApiError } from '../../../contract/errors.ts';
import type { Database, DatabaseTransaction } from '../../../store/database/database.ts';
import { UNFINISHED } from '../../../store/traces/rows/trace-rows.ts';
import { countText } from '../../../support/text/figures.ts';

/**
 * Limits the concurrent runs of each key (contract section 3, "Keys"), over all workers of the database. A run has a
 * place from before its start until its end. If its worker dies, the next attempt keeps the place.
 */
export interface KeyClaims {
  /** Takes a place for the run, or keeps the one that it has. @returns false if the key has no free place. */
  claim(run: { readonly traceId: string; readonly keyId: string | null }): Promise<boolean>;
  /** Releases the place. A run without one is no error. */
  release(traceId: string): Promise<void>;
}

export function createKeyClaims(database: Database): KeyClaims {
  /** Runs of this process that have a place. Other runs need no query at their end. */
  const held = new Set<string>();

  return {
    async claim({ traceId, keyId }) {
      if (keyId === null || (await limitOf(database.kysely, keyId)) === null) return true;
      const isClaimed = await database.transaction(
        async (transaction) => (await takePlace(transaction, { traceId, keyId })) === undefined,
        { locking: ['run_claims'] },
      );
      if (isClaimed) held.add(traceId);
      return isClaimed;
    },

    async release(traceId) {
      if (!held.delete(traceId)) return;
      await database.kysely.deleteFrom('run_claims').where('trace_id', '=', traceId).execute();
    },
  };
}

/**
 * Takes a place of the key for a seat, in the transaction that writes its trace. A seat cannot wait in a queue, since
 * its agent is waiting.
 *
 * @throws ApiError quota_exceeded
 */
export async function claimForSeat(
  { kind }: Pick<Database, 'kind'>,
  transaction: DatabaseTransaction,
  { traceId, keyId }: { readonly traceId: string; readonly keyId: string | null },
): Promise<void> {
  if (keyId === null || (await limitOf(transaction, keyId)) === null) return;
  // This transaction was started without `locking`, so the table is locked here.
  if (kind === 'postgres') await sql`lock table run_claims in share row exclusive mode`.execute(transaction);
  const limit = await takePlace(transaction, { traceId, keyId });
  if (limit === undefined) return;
  throw new ApiError(
    'quota_exceeded',
    `This API key may have ${countText(limit, 'run')} at once, and has them: end a seat or wait for a run.`,
    { headers: { 'retry-after': '10' } },
  );
}

/** Releases the place of a seat. A seat without one is no error. */
export async function releaseSeatClaim({ kysely }: Pick<Database, 'kysely'>, traceId: string): Promise<void> {
  await kysely.deleteFrom('run_claims').where('trace_id', '=', traceId).execute();
}

/**
 * Takes a place. Places of runs that have ended do not count: their worker died before it released them.
 *
 * @returns the limit of the key if it has no free place; undefined if the run has one now.
 */
async function takePlace(
  transaction: DatabaseTransaction,
  { traceId, keyId }: { readonly traceId: string; readonly keyId: string },
): Promise<number | undefined> {
  const limit = await limitOf(transaction, keyId);
  if (limit === null) return undefined;
  // One statement counts and takes, so that several runs in one transaction do not wait for each other.
  const { numAffectedRows } = await sql`
    insert into run_claims (trace_id, key_id)
    select ${traceId}, ${keyId} where ${limit} > (
      select count(*) from run_claims as taken join traces on traces.trace_id = taken.trace_id
      where taken.key_id = ${keyId} and taken.trace_id <> ${traceId} and traces.status in (${sql.join(UNFINISHED)}))
    on conflict (trace_id) do nothing`.execute(transaction);
  if (numAffectedRows !== undefined && numAffectedRows > 0n) return undefined;
  const held = await transaction
    .selectFrom('run_claims')
    .select('trace_id')
    .where('trace_id', '=', traceId)
    .executeTakeFirst();
  if (held === undefined) return limit;
  return undefined;
}

async function limitOf(queries: Database['kysely'], keyId: string): Promise<number | null> {
  const key = await queries.selectFrom('api_keys').select('concurrent_runs').where('id', '=', keyId).executeTakeFirst();
  return key?.concurrent_runs ?? null;
}
