import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Dialect, Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { createMigrator } from '../../src/database/migrations.ts';
import { openDatabase } from '../../src/database/open-database.ts';
import { ImmediateSqliteDialect } from '../../src/database/sqlite-dialect.ts';
import { sharedPostgres } from '../postgres.ts';

/** Of databases that are not there yet, or empty. */
const DATABASES: Readonly<Record<string, () => Promise<{ readonly url: string; connect(): Dialect }>>> = {
  async SQLite() {
    const folder = mkdtempSync(join(tmpdir(), 'proctor-step-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, 'proctor.db');
    return { url: `sqlite:${path}`, connect: () => new ImmediateSqliteDialect(path) };
  },
  async Postgres() {
    const url = await (await sharedPostgres()).createDatabase();
    return { url, connect: () => new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) };
  },
};

test.for(Object.entries(DATABASES))(
  'entries that an older version enqueued on %s have the environment and the key of their run',
  { timeout: 60_000 },
  async ([, createEmpty]) => {
    const { url, connect } = await createEmpty();
    const older = new Kysely<unknown>({ dialect: connect() });
    const { error } = await createMigrator(older).migrateTo('0004_run_claims');
    expect(error).toBeUndefined();
    for (const [traceId, keyId] of [
      ['keyed', 'key-1'],
      ['keyless', null],
    ] as const) {
      await sql`insert into traces (trace_id, account, key_id, origin, status, attempt, env_name, scenario_name, model,
          created_at, metadata, request)
        values (${traceId}, 'local', ${keyId}, 'run', 'queued', 1, 'counter', 'count_to', 'proctor/oracle', 0, '{}', '{}')`.execute(
        older,
      );
    }
    for (const traceId of ['keyed', 'keyless', 'deleted']) {
      await sql`insert into queue (trace_id, priority, enqueued_at) values (${traceId}, 0, 0)`.execute(older);
    }
    await older.destroy();

    const newer = await openDatabase(url);
    onTestFinished(() => newer.close());
    const rows = await newer.kysely
      .selectFrom('queue')
      .select(['trace_id', 'env_name', 'key_id'])
      .orderBy('trace_id')
      .execute();
    expect(rows).toEqual([
      { trace_id: 'deleted', env_name: '', key_id: '' },
      { trace_id: 'keyed', env_name: 'counter', key_id: 'key-1' },
      { trace_id: 'keyless', env_name: 'counter', key_id: '' },
    ]);
  },
);
