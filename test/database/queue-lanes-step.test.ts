import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/open-database.ts';
import { createTraceStore } from '../../src/trace/database-store.ts';
import { sharedPostgres } from '../postgres.ts';
import { newTrace } from '../trace/events.ts';

const URLS: Readonly<Record<string, () => Promise<string>>> = {
  async SQLite() {
    const folder = mkdtempSync(join(tmpdir(), 'proctor-step-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return `sqlite:${join(folder, 'proctor.db')}`;
  },
  Postgres: async () => (await sharedPostgres()).createDatabase(),
};

test.for(Object.entries(URLS))(
  'entries that an older version enqueued on %s have the environment and the key of their run',
  { timeout: 60_000 },
  async ([, urlOf]) => {
    const url = await urlOf();
    const older = await openDatabase(url);
    const store = createTraceStore(older, { appUrl: 'http://127.0.0.1:8320' });
    const [keyed, keyless] = [{ ...newTrace(), keyId: 'key-1' }, newTrace()];
    for (const trace of [keyed, keyless]) await store.create(trace);
    // As that version had it.
    for (const index of ['queue_lanes', 'queue_leased', 'traces_unfinished']) {
      await sql`drop index ${sql.ref(index)}`.execute(older.kysely);
    }
    for (const column of ['env_name', 'key_id']) {
      await sql`alter table queue drop column ${sql.ref(column)}`.execute(older.kysely);
    }
    await sql`delete from kysely_migration where name = '0005_queue_lanes'`.execute(older.kysely);
    for (const traceId of [keyed.traceId, keyless.traceId, 'deleted']) {
      await sql`insert into queue (trace_id, priority, enqueued_at) values (${traceId}, 0, 0)`.execute(older.kysely);
    }
    await older.close();

    const newer = await openDatabase(url);
    onTestFinished(() => newer.close());
    const rows = await newer.kysely.selectFrom('queue').select(['trace_id', 'env_name', 'key_id']).execute();
    expect(new Map(rows.map(({ trace_id, env_name, key_id }) => [trace_id, [env_name, key_id]]))).toEqual(
      new Map([
        [keyed.traceId, ['counter', 'key-1']],
        [keyless.traceId, ['counter', '']],
        ['deleted', ['', '']],
      ]),
    );
  },
);
