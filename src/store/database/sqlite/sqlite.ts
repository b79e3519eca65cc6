import { closeSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Kysely } from 'kysely';
import { messageOf } from '../../../contract/errors.ts';
import { sleep } from '../../../support/runtime/backoff.ts';
import { makeFolder } from '../../../support/runtime/make-folder.ts';
import { committing, type Database } from '../database.ts';
import { migrateToLatest } from '../tables/migrations.ts';
import type { DatabaseSchema } from '../tables/schema.ts';
import { ImmediateSqliteDialect } from './sqlite-dialect.ts';
import { createSqliteScans } from './sqlite-scans.ts';

/** Milliseconds that a writer waits for another process's transaction. */
const BUSY_TIMEOUT_MS = 5_000;

/**
 * Older versions can lose commits when two processes write and checkpoint at the same instant (sqlite.org, "WAL-reset
 * bug").
 */
const MIN_SQLITE_VERSION = '3.51.3';

const MEMORY = ':memory:';

/**
 * Opens the database and brings its schema up to date. Several processes may have one file open. A process opens it
 * once: a second connection would block the event loop that the first one's transaction needs.
 *
 * @param url `sqlite:<path>`, relative to the working directory; a missing file and its folder are created, readable by
 * their owner alone. `sqlite::memory:` is a database in memory that ends with `close`.
 * @throws Error with the address and the reason. The caller closes the database.
 */
export async function openSqlite(url: string): Promise<Database> {
  const path = parseSqliteUrl(url);
  try {
    if (path !== MEMORY) await createPrivateFile(path);
    return await openFile(path);
  } catch (error) {
    throw new Error(`Cannot open the database ${url}: ${messageOf(error)}`, { cause: error });
  }
}

function parseSqliteUrl(url: string): string {
  const form = 'use sqlite:<path>, for example sqlite:.proctor/proctor.db, or postgres://user:password@host/database';
  if (!url.startsWith('sqlite:')) throw new Error(`${JSON.stringify(url)} is not a database address: ${form}`);
  const path = url.slice('sqlite:'.length);
  if (path === '') throw new Error(`The database address ${JSON.stringify(url)} has no path: ${form}`);
  if (/^\/\/[^/]/.test(path)) {
    throw new Error(`The database address ${JSON.stringify(url)} has a host: ${form} (sqlite:///<path> is absolute)`);
  }
  return path === MEMORY ? MEMORY : resolve(path);
}

/**
 * Creates the file with private permissions; SQLite gives its `-wal` and `-shm` files the same ones. An existing file
 * is not opened: closing it would drop the locks of another connection of this process. The new file is closed in the
 * same turn for that reason.
 */
async function createPrivateFile(path: string): Promise<void> {
  await makeFolder(dirname(path));
  const isMissing = statSync(path, { throwIfNoEntry: false }) === undefined;
  if (isMissing) closeSync(openSync(path, 'a', 0o600));
}

async function openFile(path: string): Promise<Database> {
  const dialect = new ImmediateSqliteDialect(path);
  const kysely = new Kysely<DatabaseSchema>({ dialect });
  try {
    const { connection } = dialect;
    connection.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
    const { version } = connection.prepare('select sqlite_version() as version').get();
    if (isOlder(version, MIN_SQLITE_VERSION)) {
      throw new Error(`SQLite ${version} is too old for several processes: ${MIN_SQLITE_VERSION} or newer is needed`);
    }
    // Only a new file takes this setting. It lets the file shrink in pieces later.
    connection.exec('pragma auto_vacuum = incremental');
    if (path !== MEMORY) await useWriteAheadLog(() => connection.exec('pragma journal_mode = wal'));
    connection.exec('pragma synchronous = normal'); // Transactions raise it to `full`.
    connection.exec('pragma foreign_keys = on');
    connection.exec('pragma secure_delete = on'); // Deleted content is overwritten in the file.
    await migrateToLatest(kysely);
  } catch (error) {
    if (dialect.connection.isOpen) dialect.connection.close();
    throw error;
  }
  const scans = path === MEMORY ? kysely : createSqliteScans(path);
  return {
    kysely,
    scans,
    kind: 'sqlite',
    ...(path === MEMORY ? {} : { address: `sqlite:${path}` }),
    transaction: (write) => committing((each) => kysely.transaction().execute(each), write),
    async runEach(writes, { transaction, isDurable = false } = {}) {
      if (transaction !== undefined) return dialect.runEach(writes);
      if (!dialect.connection.isTransaction) return dialect.commitEach(writes, isDurable);
      // Another transaction is open on the connection. Kysely waits for its end.
      return await kysely.transaction().execute(async () => dialect.runEach(writes));
    },
    async close() {
      if (scans !== kysely) await scans.destroy();
      await kysely.destroy();
    },
  };
}

/** Retries while another process switches the same new file. The busy timeout does not cover this change. */
async function useWriteAheadLog(change: () => void): Promise<void> {
  const deadline = Date.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      return change();
    } catch (error) {
      if (!/locked|busy/i.test(messageOf(error)) || Date.now() > deadline) throw error;
      await sleep(10);
    }
  }
}

function isOlder(version: string, minimum: string): boolean {
  return version.localeCompare(minimum, 'en', { numeric: true }) < 0;
}
