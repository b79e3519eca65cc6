import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, it } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { openBullQueue } from '../../../src/store/queue/bullmq-queue.ts';
import { emptyTables, sharedPostgres } from '../../postgres.ts';
import { findRedisServer, sharedRedis } from '../../redis.ts';
import { describeRunQueue, type QueueUnderTest } from './queue-contract.ts';

/** Real time: long enough for a machine that is busy. */
const LEASE_MS = 1_500;

let databases: Promise<{ readonly url: string; readonly opened: Database }> | undefined;

function sharedDatabase() {
  databases ??= sharedPostgres().then(async (server) => {
    const url = await server.createDatabase();
    return { url, opened: await openDatabase(url) };
  });
  return databases;
}

afterAll(async () => (await databases)?.opened.close());

async function queuesAt(url: string, database: Database): Promise<QueueUnderTest> {
  const options = {
    url,
    database,
    name: `runs-${randomBytes(6).toString('hex')}`,
    leaseMs: LEASE_MS,
    checkEveryMs: 200,
  };
  const [queue, other] = [await openBullQueue(options), await openBullQueue(options)];
  return {
    queue,
    other,
    database,
    leaseMs: LEASE_MS,
    isExact: false,
    pass: async (ms) => void (await sleep(ms)),
    async close() {
      await Promise.all([queue.close(), other.close()]);
      await emptyTables(database);
    },
  };
}

const redisServer = findRedisServer();

describe.skipIf(redisServer === undefined)('with a Redis', () => {
  describeRunQueue('BullMQ on Redis', async () => {
    const { opened } = await sharedDatabase();
    return await queuesAt((await sharedRedis()).url, opened);
  });
});

if (redisServer === undefined) {
  it.skip('BullMQ on Redis', () => {});
  console.warn('skipped: the queue on Redis, since there is no redis-server (apt-get install redis-server)');
}
