import type { Kysely } from 'kysely';

/** Adds costs of simulated users and judges to attempts. Older attempts used neither, so their cost is 0. */
export async function createHarnessCosts({ schema }: Kysely<unknown>): Promise<void> {
  for (const column of ['user_usd', 'judge_usd']) {
    await schema
      .alterTable('evaluation_attempts')
      .addColumn(column, 'double precision', (added) => added.defaultTo(0))
      .execute();
  }
}
