import type { Kysely } from 'kysely';

/** Costs of the users and judges of attempts, beside those of agents. Earlier attempts had neither, at no cost. */
export async function createHarnessCosts({ schema }: Kysely<unknown>): Promise<void> {
  for (const column of ['user_usd', 'judge_usd']) {
    await schema
      .alterTable('evaluation_attempts')
      .addColumn(column, 'double precision', (added) => added.defaultTo(0))
      .execute();
  }
}
