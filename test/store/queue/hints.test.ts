import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createDatabaseQueue } from '../../../src/store/queue/database-queue.ts';
import { sharedPostgres } from '../../postgres.ts';

const PATIENCE = { timeout: 60_000 };

/** A database of its own, as two processes have it open. */
async function openTwice(): Promise<readonly [Database, Database]> {
  const url = await (await sharedPostgres()).createDatabase();
  const both = [await openDatabase(url), await openDatabase(url)] as const;
  for (const each of both) onTestFinished(() => each.close());
  return both;
}

const listening = async (database: Database): Promise<readonly number[]> => {
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_stat_activity where datname = current_database() and query like 'listen%'`.execute(
    database.kysely,
  );
  return rows.map(({ pid }) => pid);
};

it('an entry of another process is heard of, without a look at the queue', PATIENCE, async () => {
  const [one, other] = await openTwice();
  let calls = 0;
  const stop = createDatabaseQueue(other).onEntry(() => {
    calls += 1;
  });
  await expect.poll(() => calls, PATIENCE).toBe(1); // It listens now, and may have missed some.
  const queue = createDatabaseQueue(one);
  await one.transaction((transaction) => queue.enqueue({ traceId: 'a', priority: 0 }, transaction));
  await expect.poll(() => calls, PATIENCE).toBe(2);
  stop();
  await expect.poll(() => listening(one), PATIENCE).toEqual([]);
});

it(
  'a connection that was lost while it listened is made again, and what was missed is looked for',
  PATIENCE,
  async () => {
    const [one, other] = await openTwice();
    let calls = 0;
    onTestFinished(
      createDatabaseQueue(other).onEntry(() => {
        calls += 1;
      }),
    );
    await expect.poll(() => calls, PATIENCE).toBe(1);
    const [pid] = await listening(one);
    await sql`select pg_terminate_backend(${pid}::int)`.execute(one.kysely);
    await expect.poll(() => calls, PATIENCE).toBe(2);
    expect(await listening(one)).not.toContain(pid);
    await createDatabaseQueue(one).enqueue({ traceId: 'a', priority: 0 });
    await expect.poll(() => calls, PATIENCE).toBe(3);
  },
);
