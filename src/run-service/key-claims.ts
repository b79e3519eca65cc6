import type { Database } from '../database/database.ts';
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
        async (transaction) => {
          const limit = await limitOf(transaction, keyId);
          if (limit === null) return true;
          const { taken } = await transaction
            .selectFrom('run_claims')
            .innerJoin('traces', 'traces.trace_id', 'run_claims.trace_id')
            .select((row) => row.fn.countAll<number>().as('taken'))
            .where('run_claims.key_id', '=', keyId)
            .where('run_claims.trace_id', '!=', traceId)
            // A worker may have died between the end of a run and that of its place.
            .where('traces.status', 'in', UNFINISHED)
            .executeTakeFirstOrThrow();
          if (Number(taken) >= limit) return false;
          await transaction
            .insertInto('run_claims')
            .values({ trace_id: traceId, key_id: keyId })
            .onConflict((conflict) => conflict.column('trace_id').doNothing())
            .execute();
          return true;
        },
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

async function limitOf(queries: Database['kysely'], keyId: string): Promise<number | null> {
  const key = await queries.selectFrom('api_keys').select('concurrent_runs').where('id', '=', keyId).executeTakeFirst();
  return key?.concurrent_runs ?? null;
}
