import type { Kysely } from 'kysely';

/** What the users and judges of attempts have cost, beside their agents. Those before had none, so that they have cost nothing. */
export async function createHarnessCosts({ schema }: Kysely<unknown>): Promise<void> {
  for (const column of ['user_usd', 'judge_usd']) {
    await schema
      .alterTable('evaluation_attempts')
      .addColumn(column, 'double precision', (added) => added.defaultTo(0))
      .execute();
  }
}
