import { sql } from 'kysely';
import { ApiError } from '../contract/errors.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import { UNFINISHED } from '../trace/trace-rows.ts';

/**
 * The places of runs whose key may have only so many at once (contract section 3, "Keys"). A place is held from before a
 * run begins until its end, over every worker of the database; that of a run whose worker died is its next attempt's.
 */
export interface KeyClaims {
  /** Takes a place for the run, or keeps the one that it has. @returns false where all places of its key are taken. */
  claim(run: { readonly traceId: string; readonly keyId: string | null }): Promise<boolean>;
  /** Gives the place up; a run that has none is no error. */
  release(traceId: string): Promise<void>;
}

export function createKeyClaims(database: Database): KeyClaims {
  /** Runs that hold a place by this process: the others need not be asked about at their end. */
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
 * Takes a place of the key for a seat, which has an agent that waits and so no place in a line, in the transaction that
 * writes its trace.
 *
 * @throws ApiError quota_exceeded
 */
export async function claimForSeat(
  { kind }: Pick<Database, 'kind'>,
  transaction: DatabaseTransaction,
  { traceId, keyId }: { readonly traceId: string; readonly keyId: string | null },
): Promise<void> {
  if (keyId === null || (await limitOf(transaction, keyId)) === null) return;
  // As `locking` of a transaction does it, which this one was not begun with.
  if (kind === 'postgres') await sql`lock table run_claims in share row exclusive mode`.execute(transaction);
  const limit = await takePlace(transaction, { traceId, keyId });
  if (limit === undefined) return;
  throw new ApiError(
    'quota_exceeded',
    `This API key may have ${limit} ${limit === 1 ? 'run' : 'runs'} at once, and has them: end a seat or wait for a run.`,
    { headers: { 'retry-after': '10' } },
  );
}

/** Gives up the place of a seat; one that has none is no error. */
export async function releaseSeatClaim({ kysely }: Pick<Database, 'kysely'>, traceId: string): Promise<void> {
  await kysely.deleteFrom('run_claims').where('trace_id', '=', traceId).execute();
}

/** @returns the limit of the key where all of its places are taken; undefined where the run has one now. */
async function takePlace(
  transaction: DatabaseTransaction,
  { traceId, keyId }: { readonly traceId: string; readonly keyId: string },
): Promise<number | undefined> {
  const limit = await limitOf(transaction, keyId);
  if (limit === null) return undefined;
  const { taken } = await transaction
    .selectFrom('run_claims')
    .innerJoin('traces', 'traces.trace_id', 'run_claims.trace_id')
    .select((row) => row.fn.countAll<number>().as('taken'))
    .where('run_claims.key_id', '=', keyId)
    .where('run_claims.trace_id', '!=', traceId)
    // A worker may have died between the end of a run and that of its place.
    .where('traces.status', 'in', UNFINISHED)
    .executeTakeFirstOrThrow();
  if (Number(taken) >= limit) return limit;
  await transaction
    .insertInto('run_claims')
    .values({ trace_id: traceId, key_id: keyId })
    .onConflict((conflict) => conflict.column('trace_id').doNothing())
    .execute();
  return undefined;
}

async function limitOf(queries: Database['kysely'], keyId: string): Promise<number | null> {
  const key = await queries.selectFrom('api_keys').select('concurrent_runs').where('id', '=', keyId).executeTakeFirst();
  return key?.concurrent_runs ?? null;
}
