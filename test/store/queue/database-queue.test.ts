import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createDatabaseQueue } from '../../../src/store/queue/database-queue.ts';
import { LEASE } from '../../../src/store/queue/run-queue.ts';
import { emptyTables, sharedPostgres } from '../../postgres.ts';
import { describeRunQueue, type QueueUnderTest } from './queue-contract.ts';

function queuesOn(database: Database, second: Database, close: () => Promise<void>): QueueUnderTest {
  let now = Date.parse('2026-01-01T00:00:00.000Z');
  const options = { now: () => now };
  return {
    queue: createDatabaseQueue(database, options),
    other: createDatabaseQueue(second, options),
    database,
    leaseMs: LEASE.durationMs,
    isExact: true,
    async pass(ms) {
      now += ms;
    },
    close,
  };
}

describeRunQueue('a SQLite file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-queue-'));
  const url = `sqlite:${join(folder, 'proctor.db')}`;
  const [database, second] = [await openDatabase(url), await openDatabase(url)];
  return queuesOn(database, second, async () => {
    await second.close();
    await database.close();
    await rm(folder, { recursive: true });
  });
});

let onPostgres: Promise<readonly [Database, Database]> | undefined;

describeRunQueue('Postgres', async () => {
  onPostgres ??= sharedPostgres().then(async (server) => {
    const url = await server.createDatabase();
    return [await openDatabase(url), await openDatabase(url)];
  });
  const [database, second] = await onPostgres;
  return queuesOn(database, second, () => emptyTables(database));
});

afterAll(async () => {
  for (const database of (await onPostgres) ?? []) await database.close();
});
