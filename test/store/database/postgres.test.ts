import { sql } from 'kysely';
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { afterCommit } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { sharedPostgres } from '../../postgres.ts';
import { Script } from '../../processes.ts';
import { startRelay } from '../../relay.ts';

let server: Awaited<ReturnType<typeof sharedPostgres>>;
let url: string;
let database: Database;

// Not before all: without a Postgres each test is skipped.
beforeEach(async () => {
  if (server !== undefined) return;
  server = await sharedPostgres();
  url = await server.createDatabase();
  database = await openDatabase(url);
});
afterAll(async () => database?.close());
afterEach(async () => {
  await database?.kysely.deleteFrom('queue').execute();
});

const entry = (traceId: string) => ({ trace_id: traceId, priority: 0, enqueued_at: 0, is_redelivered: 0 });
const entries = async () => {
  const rows = await database.kysely.selectFrom('queue').select('trace_id').orderBy('trace_id').execute();
  return rows.map(({ trace_id }) => trace_id);
};

describe('an address of Postgres that cannot be opened is refused with the way out, and without its password:', () => {
  it.each<[string, () => string, RegExp]>([
    [
      'nobody listens',
      () => 'postgres://proctor:secret@127.0.0.1:1/proctor',
      /no Postgres answers at 127.0.0.1:1 .*Start it, or correct PROCTOR_DATABASE_URL/,
    ],
    [
      'the host has no address',
      () => 'postgres://proctor:secret@nowhere.invalid/proctor',
      /no Postgres answers at nowhere.invalid/,
    ],
    [
      'the password is wrong',
      () => server.urlOf('postgres', { password: 'secret' }),
      /refuses the password of the user "proctor"\. Correct it/,
    ],
    [
      'there is no password',
      () => `postgres://proctor@127.0.0.1:${server.port}/postgres`,
      /wants a password of the user "proctor"/,
    ],
    [
      'there is no such database',
      () => server.urlOf('nowhere'),
      /no database "nowhere". Make it with "createdb nowhere"/,
    ],
    [
      'the server has no TLS',
      () => `${server.urlOf('postgres')}?sslmode=require`,
      /does not support SSL connections\. .*sslmode=disable/,
    ],
    [
      'a certificate is not there',
      () => `${server.urlOf('postgres')}?sslrootcert=/nowhere.crt`,
      /ENOENT.*Correct sslrootcert/,
    ],
    [
      'it cannot be read',
      () => 'postgres://proctor:sec@ret:x/proctor',
      /cannot be read: use postgres:.*@ is written as %40/,
    ],
  ])('%s', async (_, address, message) => {
    const opening = openDatabase(address());
    await expect(opening).rejects.toThrow(message);
    await expect(opening).rejects.not.toThrow(/secret|pass%40word|sec@ret/);
  });

  it('the user may not make tables', async () => {
    const name = 'visitor';
    await sql`create role visitor login password 'v'`.execute(database.kysely);
    onTestFinished(async () => void (await sql`drop role visitor`.execute(database.kysely)));
    const opening = openDatabase(server.urlOf('postgres', { name, password: 'v' }));
    await expect(opening).rejects.toThrow(/permission denied.*alter database postgres owner to visitor/);
  });
});

describe('a database on Postgres', { timeout: 120_000 }, () => {
  it('is as it is on SQLite: tables, columns with their types, keys, references and indexes', async () => {
    const sqlite = await openDatabase('sqlite::memory:');
    onTestFinished(() => sqlite.close());
    expect(await meaningOnPostgres(database)).toEqual(await meaningOnSqlite(sqlite));
  });

  it('gives numbers as numbers and bytes as bytes', async () => {
    const { rows } = await sql`select 9007199254740991::int8 as big, count(*) as counted, sum(2::int8) as summed,
      0.25::float8 as half, '\\x00ff'::bytea as bytes, null::int8 as missing`.execute(database.kysely);
    expect(rows).toEqual([
      { big: Number.MAX_SAFE_INTEGER, counted: 1, summed: 2, half: 0.25, bytes: Buffer.from([0, 255]), missing: null },
    ]);
  });

  it('keeps text that Postgres cannot hold, but for its character 0', async () => {
    await database.kysely.insertInto('queue').values(entry('a\0b')).execute();
    expect(await entries()).toEqual(['a\ufffdb']);
  });

  it('writes many rows in one statement, all or none', async () => {
    const statement = database.kysely.insertInto('queue').values(entry('')).compile();
    const rows = Array.from({ length: 3_000 }, (_, index) => [`t${index}`, index % 10, index, 0]);
    await database.runEach([{ statement, rows }]);
    expect(await entries()).toHaveLength(3_000);
    const taken = [
      ['new', 0, 0, 0],
      ['t1', 0, 0, 0],
    ];
    const again = database.runEach([{ statement, rows: taken }]);
    await expect(again).rejects.toThrow(/duplicate key/);
    expect(await entries()).not.toContain('new');
    await database.runEach([{ statement, rows: [] }]);
    await database.runEach([]);
  });

  it('runs any other write for each of its parameters', async () => {
    await database.kysely
      .insertInto('queue')
      .values([entry('a'), entry('b')])
      .execute();
    const statement = database.kysely.updateTable('queue').set({ priority: 0 }).where('trace_id', '=', '').compile();
    const changes = [
      [3, 'a'],
      [4, 'b'],
    ];
    await database.runEach([{ statement, rows: changes }]);
    const rows = await database.kysely.selectFrom('queue').select('priority').orderBy('trace_id').execute();
    expect(rows).toEqual([{ priority: 3 }, { priority: 4 }]);
  });

  it('runs several writes in their order, all or none', async () => {
    await database.kysely.insertInto('queue').values(entry('a')).execute();
    const change = database.kysely.updateTable('queue').set({ priority: 0 }).where('trace_id', '=', '').compile();
    const insert = database.kysely.insertInto('queue').values(entry('')).compile();
    const both = database.runEach([
      { statement: change, rows: [[7, 'a']] },
      { statement: insert, rows: [['a', 0, 0, 0]] },
    ]);
    await expect(both).rejects.toThrow(/duplicate key/);
    const rows = await database.kysely.selectFrom('queue').select('priority').execute();
    expect(rows).toEqual([{ priority: entry('a').priority }]);
  });

  it('undoes a transaction that throws, and tells of a commit those who wanted to know of it', async () => {
    const told: string[] = [];
    const writing = database.transaction(async (transaction) => {
      afterCommit(transaction, () => told.push('undone'));
      await transaction.insertInto('queue').values(entry('a')).execute();
      throw new Error('no');
    });
    await expect(writing).rejects.toThrow('no');
    expect(await entries()).toEqual([]);
    await database.transaction(async (transaction) => {
      afterCommit(transaction, () => told.push('committed'));
      await transaction.insertInto('queue').values(entry('b')).execute();
      expect(told).toEqual([]);
    });
    expect(told).toEqual(['committed']);
  });

  it('runs a transaction again when another one locked it out', async () => {
    await database.kysely
      .insertInto('queue')
      .values([entry('a'), entry('b')])
      .execute();
    let both = 2;
    let meet = () => {};
    const met = new Promise<void>((resolve) => (meet = resolve));
    const raise = (first: string, second: string) =>
      database.transaction(async (transaction) => {
        const add = (traceId: string) =>
          transaction
            .updateTable('queue')
            .set(({ eb }) => ({ priority: eb('priority', '+', 1) }))
            .where('trace_id', '=', traceId)
            .execute();
        await add(first);
        if (--both === 0) meet();
        await met;
        await add(second);
      });
    await Promise.all([raise('a', 'b'), raise('b', 'a')]);
    const rows = await database.kysely.selectFrom('queue').select('priority').execute();
    expect(rows).toEqual([{ priority: 2 }, { priority: 2 }]);
  });

  it('lets one transaction at a time check and write what it locks', async () => {
    const takeOnce = () =>
      database.transaction(
        async (transaction) => {
          const taken = await transaction.selectFrom('queue').select('trace_id').execute();
          if (taken.length > 0) return false;
          await transaction
            .insertInto('queue')
            .values(entry(`${Math.random()}`))
            .execute();
          return true;
        },
        { locking: ['queue'] },
      );
    const results = await Promise.all(Array.from({ length: 8 }, takeOnce));
    expect(results.filter((isTaken) => isTaken)).toHaveLength(1);
  });

  it('is brought up to date by several processes at once, the first time too', async () => {
    const fresh = await server.createDatabase();
    const script = new URL('fixtures/open-and-write.ts', import.meta.url);
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => new Script(script, [fresh, name]).end()));
    const opened = await openDatabase(fresh);
    const rows = await opened.kysely.selectFrom('queue').select('trace_id').orderBy('trace_id').execute();
    expect(rows.map(({ trace_id }) => trace_id)).toEqual(['a', 'b', 'c', 'd']);
    await opened.close();
  });

  it('of a newer Proctor is refused, and says so', async () => {
    const newer = await server.createDatabase();
    const opened = await openDatabase(newer);
    await sql`insert into kysely_migration values ('9999_future', '2030-01-01T00:00:00.000Z')`.execute(opened.kysely);
    await opened.close();
    await expect(openDatabase(newer)).rejects.toThrow(
      /written by a newer Proctor \(schema 9999_future\): update Proctor/,
    );
  });

  it('lets no query, lock or transaction go on for ever', async () => {
    for (const [name, limit] of [
      ['statement_timeout', '30s'],
      ['lock_timeout', '10s'],
      ['idle_in_transaction_session_timeout', '5s'],
    ]) {
      const { rows } = await sql`show ${sql.raw(name ?? '')}`.execute(database.kysely);
      expect(rows).toEqual([{ [name ?? '']: limit }]);
    }
  });

  it('says 503 while its connections are lost, and goes on with new ones', async () => {
    const relay = await startRelay(server.port);
    const behind = await openDatabase(url.replace(`:${server.port}/`, `:${relay.port}/`));
    onTestFinished(() => behind.close());
    await behind.kysely.selectFrom('queue').selectAll().execute();
    relay.cut();
    const asked = behind.kysely.selectFrom('queue').selectAll().execute();
    await expect(asked).rejects.toMatchObject({
      code: 'store_unavailable',
      status: 503,
      headers: { 'retry-after': '5' },
    });
    await relay.mend();
    expect(await behind.kysely.selectFrom('queue').selectAll().execute()).toEqual([]);
  });
});

/** What a schema says, in words that both databases share. */
interface Meaning {
  readonly columns: readonly string[];
  readonly keys: readonly string[];
  readonly references: readonly string[];
  readonly indexes: readonly string[];
}

const TYPES: Readonly<Record<string, string>> = {
  int4: 'integer',
  int8: 'bigint',
  float8: 'double precision',
  bytea: 'blob',
};

async function meaningOnPostgres({ kysely }: Database): Promise<Meaning> {
  const columns = await sql<{ line: string; type: string; has: boolean; fallback: string | null }>`
    select table_name || '.' || column_name as line, udt_name as type, is_nullable = 'NO' as has, column_default as fallback
    from information_schema.columns where table_schema = 'public' and table_name not like 'kysely%'`.execute(kysely);
  const constraints = await sql<{ kind: string; line: string; target: string; cascades: boolean }>`
    select contype as kind, conrelid::regclass || '(' || (
      select string_agg(attname, ', ' order by place) from unnest(conkey) with ordinality as key(number, place)
      join pg_attribute on attrelid = conrelid and attnum = number) || ')' as line,
      coalesce(confrelid::regclass::text, '') as target, confdeltype = 'c' as cascades
    from pg_constraint where connamespace = 'public'::regnamespace and contype in ('p', 'u', 'f')
      and conrelid::regclass::text not like 'kysely%'`.execute(kysely);
  const indexes = await sql<{ indexdef: string }>`
    select indexdef from pg_indexes where schemaname = 'public' and tablename not like 'kysely%'
      and not exists (select from pg_constraint where conname = indexname)`.execute(kysely);
  return {
    columns: columns.rows
      .map(
        ({ line, type, has, fallback }) =>
          `${line} ${TYPES[type] ?? type}${has ? ' not null' : ''} ${(fallback ?? '').replace(/::text$/, '')}`,
      )
      .sort(),
    keys: constraints.rows
      .filter(({ kind }) => kind !== 'f')
      .map(({ line }) => line)
      .sort(),
    references: constraints.rows
      .filter(({ kind }) => kind === 'f')
      .map(({ line, target, cascades }) => `${line} -> ${target}${cascades ? ' cascade' : ''}`)
      .sort(),
    indexes: indexes.rows.map(({ indexdef }) => toIndex(indexdef.replace(/ USING btree /, ' '))).sort(),
  };
}

async function meaningOnSqlite({ kysely }: Database): Promise<Meaning> {
  const columns: string[] = [];
  const keys: string[] = [];
  const references: string[] = [];
  const tables = await sql<{ name: string }>`
    select name from sqlite_master where type = 'table' and name not like 'kysely%' and name not like 'sqlite%'`.execute(
    kysely,
  );
  for (const { name } of tables.rows) {
    const infos = await sql<{ name: string; type: string; notnull: number; dflt_value: string | null; pk: number }>`
      select * from pragma_table_info(${name})`.execute(kysely);
    for (const info of infos.rows) {
      columns.push(
        `${name}.${info.name} ${info.type.toLowerCase()}${info.notnull ? ' not null' : ''} ${info.dflt_value ?? ''}`,
      );
    }
    const key = infos.rows.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
    if (key.length > 0) keys.push(`${name}(${key.map((column) => column.name).join(', ')})`);
    const uniques = await sql<{ name: string }>`select name from pragma_index_list(${name}) where origin = 'u'`.execute(
      kysely,
    );
    for (const unique of uniques.rows) {
      const parts = await sql<{ name: string }>`select name from pragma_index_info(${unique.name})`.execute(kysely);
      keys.push(`${name}(${parts.rows.map((part) => part.name).join(', ')})`);
    }
    // A key of several columns has a row for each.
    const targets = await sql<{ columns: string; table: string; on_delete: string }>`
      select group_concat("from", ', ') as columns, "table", on_delete
      from (select * from pragma_foreign_key_list(${name}) order by id, seq) group by id`.execute(kysely);
    for (const { columns: from, table, on_delete } of targets.rows) {
      references.push(`${name}(${from}) -> ${table}${on_delete === 'CASCADE' ? ' cascade' : ''}`);
    }
  }
  const indexes = await sql<{ sql: string }>`
    select sql from sqlite_master where type = 'index' and sql is not null`.execute(kysely);
  return {
    columns: columns.sort(),
    keys: keys.sort(),
    references: references.sort(),
    indexes: indexes.rows.map((index) => toIndex(index.sql)).sort(),
  };
}

/** Without what each database adds of its own. */
function toIndex(definition: string): string {
  return definition
    .toLowerCase()
    .replace(/["()]|public\.|::text/g, ' ')
    .replace(/\s*,\s*/g, ', ')
    .replace(/\s+/g, ' ')
    .trim();
}
