import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createDatabaseQueue } from '../../../src/store/queue/database-queue.ts';
import { sharedPostgres } from '../../postgres.ts';
import { recording, rowsReadBy, scansOf } from '../database/plans.ts';
import { upTo } from '../traces/events.ts';

const PATIENCE = { timeout: 60_000 };
const FILTER = { exceptEnvironments: ['full'], exceptKeys: ['key-full'] };

async function open(url: string): Promise<Database> {
  const database = await openDatabase(url);
  onTestFinished(() => database.close());
  return database;
}

function sqliteUrl(): string {
  const folder = mkdtempSync(join(tmpdir(), 'proctor-groups-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return `sqlite:${join(folder, 'proctor.db')}`;
}

/** Twice as many entries of an environment and of a key that have no place, and one behind them. */
async function fill(database: Database, count: number): Promise<void> {
  const queue = createDatabaseQueue(database);
  await database.transaction(async (transaction) => {
    for (const index of upTo(count)) {
      await queue.enqueue({ traceId: `env-${index}`, priority: 9, envName: 'full', keyId: 'key' }, transaction);
      await queue.enqueue({ traceId: `key-${index}`, priority: 9, envName: 'open', keyId: 'key-full' }, transaction);
    }
    await queue.enqueue({ traceId: 'free', priority: 0, envName: 'open', keyId: null }, transaction);
  });
}

it('SQLite reads no entry that waits for a place when it looks for one that has one', PATIENCE, async () => {
  const database = await open(sqliteUrl());
  const { recorded, asked } = recording(database);
  await fill(database, 500);
  const lease = (await createDatabaseQueue(recorded).lease('worker', { filter: FILTER }))[0];
  expect(lease).toMatchObject({ traceId: 'free' });
  expect(asked.length).toBeGreaterThan(1);
  for (const query of asked) {
    const scans = await scansOf(database, query);
    // The groups and the entries that were found (`next`, no more than were asked for), and the few that a worker holds.
    expect(
      scans.filter((scan) => !/^SCAN (environments|groups|next|queue USING INDEX queue_leased)$/.test(scan)),
    ).toEqual([]);
  }
});

it('Postgres reads no entry that waits for a place when it looks for one that has one', PATIENCE, async () => {
  const database = await open(await (await sharedPostgres()).createDatabase());
  const { recorded, asked } = recording(database);
  await fill(database, 2_000);
  await sql`analyze`.execute(database.kysely);
  const lease = (await createDatabaseQueue(recorded).lease('worker', { filter: FILTER }))[0];
  expect(lease).toMatchObject({ traceId: 'free' });
  const rows = await Promise.all(asked.map((query) => rowsReadBy(database, query)));
  expect(rows.reduce((sum, count) => sum + count, 0)).toBeLessThan(100);
});
