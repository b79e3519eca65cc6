import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { Script } from '../../processes.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proctor-database-'));
});
afterEach(async () => rm(folder, { recursive: true }));

const entry = (traceId: string) => ({ trace_id: traceId, priority: 0, enqueued_at: 0, is_redelivered: 0 });

describe('a database address', () => {
  it.each([
    ['sqlite:', /has no path/],
    ['proctor.db', /"proctor.db" is not a database address: use sqlite:<path>/],
    ['mysql://localhost/proctor', /is not a database address/],
    ['sqlite://proctor.db', /has a host/],
  ])('%s is refused with the way out', async (url, message) => {
    await expect(openDatabase(url)).rejects.toThrow(message);
  });

  it('that cannot be opened is named, with the reason', async () => {
    await expect(openDatabase(`sqlite:${folder}`)).rejects.toThrow(
      new RegExp(`Cannot open the database sqlite:${folder}: `),
    );
    const text = join(folder, 'notes.txt');
    await writeFile(text, 'This is not a database, but it is long enough to have a header. '.repeat(20));
    await expect(openDatabase(`sqlite:${text}`)).rejects.toThrow(/notes.txt: file is not a database/);
    await expect(openDatabase(`sqlite:${text}/a.db`)).rejects.toThrow(/Cannot open the database/);
  });

  it('in a folder that can never be made is refused at once', async () => {
    const refused = /Cannot open the database sqlite:\/proc\/nope\/deep\/x\.db: ENOENT/;
    await expect(openDatabase('sqlite:/proc/nope/deep/x.db')).rejects.toThrow(refused);
  });
});

describe('a database', { timeout: 120_000 }, () => {
  it('is made where it is missing, and only its owner can read it', async () => {
    const path = join(folder, 'a', 'b', 'proctor.db');
    const database = await openDatabase(`sqlite:${path}`);
    try {
      await database.kysely.insertInto('queue').values(entry('a')).execute();
      for (const file of [path, `${path}-wal`, `${path}-shm`]) {
        expect((await stat(file)).mode & 0o777, file).toBe(0o600);
      }
      for (const made of ['a', 'a/b']) expect((await stat(join(folder, made))).mode & 0o777, made).toBe(0o700);
    } finally {
      await database.close();
    }
  });

  it('keeps what was written, and is left as it is by the next opening', async () => {
    const url = `sqlite:${join(folder, 'proctor.db')}`;
    const first = await openDatabase(url);
    await first.kysely.insertInto('queue').values(entry('a')).execute();
    await first.close();
    const second = await openDatabase(url);
    expect(await second.kysely.selectFrom('queue').select('trace_id').execute()).toEqual([{ trace_id: 'a' }]);
    await second.close();
  });

  it('in memory ends with its close', async () => {
    for (const _ of [1, 2]) {
      const database = await openDatabase('sqlite::memory:');
      await database.kysely.insertInto('queue').values(entry('a')).execute();
      await database.close();
    }
  });

  it('syncs a transaction to the disk, and what stands alone with the next one', async () => {
    const database = await openDatabase(`sqlite:${join(folder, 'proctor.db')}`);
    const setting = sql<{ synchronous: number }>`pragma synchronous`;
    const alone = { rows: [{ synchronous: 1 }] }; // normal
    expect(await setting.execute(database.kysely)).toMatchObject(alone);
    await database.transaction(async (transaction) => {
      expect(await setting.execute(transaction)).toMatchObject({ rows: [{ synchronous: 2 }] }); // full
    });
    expect(await setting.execute(database.kysely)).toMatchObject(alone);
    const failing = database.transaction(() => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(await setting.execute(database.kysely)).toMatchObject(alone);
    await database.close();
  });

  it('holds references', async () => {
    const database = await openDatabase(`sqlite:${join(folder, 'proctor.db')}`);
    const event = { trace_id: 'none', seq: 1, attempt: 1, at: 0, type: 'log', body: '{}' };
    await expect(database.kysely.insertInto('events').values(event).execute()).rejects.toThrow(/FOREIGN KEY/);
    await database.close();
  });

  it('undoes a transaction that throws, with its first error', async () => {
    const database = await openDatabase('sqlite::memory:');
    const writing = database.transaction(async (transaction) => {
      await transaction.insertInto('queue').values(entry('a')).execute();
      throw new Error('no');
    });
    await expect(writing).rejects.toThrow('no');
    expect(await database.kysely.selectFrom('queue').selectAll().execute()).toEqual([]);
    await database.close();
  });

  it('keeps the error that ended a transaction by itself', async () => {
    const database = await openDatabase('sqlite::memory:');
    const writing = database.transaction(async (transaction) => {
      await transaction.insertInto('queue').values(entry('a')).execute();
      await sql`insert or rollback into queue (trace_id, priority, enqueued_at) values ('a', 0, 0)`.execute(
        transaction,
      );
    });
    await expect(writing).rejects.toThrow(/UNIQUE constraint failed: queue.trace_id/);
    expect(await database.kysely.selectFrom('queue').selectAll().execute()).toEqual([]);
    await database.close();
  });

  it('gives a transaction the write lock before its first statement', async () => {
    const url = `sqlite:${join(folder, 'proctor.db')}`;
    const [database, second] = [await openDatabase(url), await openDatabase(url)];
    await sql`pragma busy_timeout = 0`.execute(second.kysely);
    await database.transaction(async (transaction) => {
      await expect(second.kysely.insertInto('queue').values(entry('b')).execute()).rejects.toThrow(/locked/);
      await transaction.insertInto('queue').values(entry('a')).execute();
    });
    expect(await second.kysely.selectFrom('queue').select('trace_id').execute()).toEqual([{ trace_id: 'a' }]);
    await second.close();
    await database.close();
  });

  it('of a newer Proctor is refused, and says so', async () => {
    const url = `sqlite:${join(folder, 'proctor.db')}`;
    const database = await openDatabase(url);
    await database.kysely
      // @ts-expect-error: the table of the migrations is not part of the schema
      .insertInto('kysely_migration')
      .values({ name: '9999_future', timestamp: new Date().toISOString() })
      .execute();
    await database.close();
    await expect(openDatabase(url)).rejects.toThrow(
      /written by a newer Proctor \(schema 9999_future\): update Proctor/,
    );
  });

  it('is opened by several processes at once, the first time too', async () => {
    const url = `sqlite:${join(folder, 'proctor.db')}`;
    const script = new URL('fixtures/open-and-write.ts', import.meta.url);
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => new Script(script, [url, name]).end()));
    const database = await openDatabase(url);
    const rows = await database.kysely.selectFrom('queue').select('trace_id').orderBy('trace_id').execute();
    expect(rows.map(({ trace_id }) => trace_id)).toEqual(['a', 'b', 'c', 'd']);
    await database.close();
  });
});
