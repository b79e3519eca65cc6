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

/**
 * A place of a run whose worker died before it gave the place up does not count: its trace has ended.
 *
 * @returns the limit of the key where all of its places are taken; undefined where the run has one now.
 */
async function takePlace(
  transaction: DatabaseTransaction,
  { traceId, keyId }: { readonly traceId: string; readonly keyId: string },
): Promise<number | undefined> {
  const limit = await limitOf(transaction, keyId);
  if (limit === null) return undefined;
  // Counted and taken in one statement: several runs may be created in one transaction, and none waits for the others.
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
