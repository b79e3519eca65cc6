import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { emptyTables, sharedPostgres } from '../../postgres.ts';
import { describeTraceEvents } from './append-contract.ts';
import { describeTraceEnds } from './end-contract.ts';
import { describeTraceList } from './list-contract.ts';
import { APP_URL, describeTraceStore, type StoreUnderTest } from './store-contract.ts';
import { describeTraceTotals } from './totals-contract.ts';

function storesOn(database: Database, second: Database, close: () => Promise<void>): StoreUnderTest {
  const clock = { now: Date.parse('2026-01-01T00:00:00.000Z') };
  const options = { appUrl: APP_URL, now: () => clock.now };
  const [store, other] = [createTraceStore(database, options), createTraceStore(second, options)];
  return { store, other, database, clock, close };
}

async function openOnFile(): Promise<StoreUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-store-'));
  const url = `sqlite:${join(folder, 'proctor.db')}`;
  const [database, second] = [await openDatabase(url), await openDatabase(url)];
  return storesOn(database, second, async () => {
    await second.close();
    await database.close();
    await rm(folder, { recursive: true });
  });
}

async function openInMemory(): Promise<StoreUnderTest> {
  const database = await openDatabase('sqlite::memory:');
  return storesOn(database, database, () => database.close());
}

let onPostgres: Promise<readonly [Database, Database]> | undefined;

async function openOnPostgres(): Promise<StoreUnderTest> {
  onPostgres ??= sharedPostgres().then(async (server) => {
    const url = await server.createDatabase();
    return [await openDatabase(url), await openDatabase(url)];
  });
  const [database, second] = await onPostgres;
  return storesOn(database, second, () => emptyTables(database));
}

afterAll(async () => {
  for (const database of (await onPostgres) ?? []) await database.close();
});

const DATABASES = { 'a SQLite file': openOnFile, 'SQLite in memory': openInMemory, Postgres: openOnPostgres };

for (const [name, open] of Object.entries(DATABASES)) {
  describeTraceStore(name, open);
  describeTraceEvents(name, open);
  describeTraceEnds(name, open);
  describeTraceList(name, open);
  describeTraceTotals(name, open);
}
