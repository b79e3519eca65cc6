import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../src/database/sqlite.ts';
import { createTraceStore } from '../../src/trace/database-store.ts';
import { describeTraceEvents } from './append-contract.ts';
import { describeTraceList } from './list-contract.ts';
import { APP_URL, describeTraceStore, type StoreUnderTest } from './store-contract.ts';

async function openOnSqlite(): Promise<StoreUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-store-'));
  const url = `sqlite:${join(folder, 'proctor.db')}`;
  const [database, second] = [await openDatabase(url), await openDatabase(url)];
  const clock = { now: Date.parse('2026-01-01T00:00:00.000Z') };
  const options = { appUrl: APP_URL, now: () => clock.now };
  return {
    store: createTraceStore(database, options),
    other: createTraceStore(second, options),
    database,
    clock,
    async close() {
      await second.close();
      await database.close();
      await rm(folder, { recursive: true });
    },
  };
}

describeTraceStore('SQLite', openOnSqlite);
describeTraceEvents('SQLite', openOnSqlite);
describeTraceList('SQLite', openOnSqlite);
