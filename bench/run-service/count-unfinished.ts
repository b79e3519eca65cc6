import type { Database } from '../../src/store/database/database.ts';

/** Runs that wait or go on. */
export async function countUnfinished(database: Database): Promise<number> {
  const { count } = await database.kysely
    .selectFrom('traces')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('status', 'in', ['queued', 'running'])
    .executeTakeFirstOrThrow();
  return Number(count);
}
