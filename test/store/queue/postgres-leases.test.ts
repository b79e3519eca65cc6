import { sql } from 'kysely';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createDatabaseQueue } from '../../../src/store/queue/database-queue.ts';
import type { RunQueue } from '../../../src/store/queue/run-queue.ts';
import { sharedPostgres } from '../../postgres.ts';
import { upTo } from '../traces/events.ts';

describe('leases on Postgres, where several write at once,', () => {
  let database: Database;
  let queues: readonly RunQueue[];

  beforeEach(async () => {
    const url = await (await sharedPostgres()).createDatabase();
    const databases = [await openDatabase(url), await openDatabase(url)] as const;
    for (const each of databases) onTestFinished(() => each.close());
    database = databases[0];
    queues = databases.map((each) => createDatabaseQueue(each));
  });

  it('pass over an entry that somebody is about to take', async () => {
    for (const traceId of ['a', 'b']) await queues[0]?.enqueue({ traceId, priority: 0 });
    await database.transaction(async (transaction) => {
      await transaction.updateTable('queue').set({ lease_until: 0 }).where('trace_id', '=', 'a').execute();
      expect((await queues[1]?.lease('worker-2'))?.[0]).toMatchObject({ traceId: 'b' });
    });
  });

  it('are as many as were asked for, also where the planner believes that there is one entry', async () => {
    await queues[0]?.enqueue({ traceId: 'a', priority: 0 });
    await sql`analyze queue`.execute(database.kysely);
    for (const traceId of ['b', 'c', 'd']) await queues[0]?.enqueue({ traceId, priority: 0 });
    const taken = [await queues[0]?.lease('worker'), await queues[0]?.lease('worker', { limit: 2 })];
    expect(taken.map((leases) => leases?.map(({ traceId }) => traceId))).toEqual([['a'], ['b', 'c']]);
  });

  it('are each of another entry, however many are asked for at once', async () => {
    await Promise.all(upTo(200).map((index) => queues[0]?.enqueue({ traceId: `t${index}`, priority: index % 3 })));
    const leases = await Promise.all(upTo(100).flatMap(() => queues.map((queue) => queue.lease('worker'))));
    const traceIds = leases.map(([lease]) => lease?.traceId);
    expect(traceIds).not.toContain(undefined);
    expect(new Set(traceIds).size).toBe(200);
  });
});
