import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type DialectAdapter,
  type Driver,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
} from 'kysely';
import { messageOf } from '../../../contract/errors.ts';
import type { RowsWrite } from '../database.ts';
import { storeIsAway, storeIsBusy, storeIsFull, UniqueViolationError } from '../store-errors.ts';

/** Largest number of prepared statements per connection. The least recently used is dropped first. */
const MAX_PREPARED = 200;

/** Durability of commits. SQLite refuses to change it within a transaction. */
const WAIT_FOR_DISK = 'pragma synchronous = full';
const WAIT_FOR_NOTHING = 'pragma synchronous = normal';

/** Kysely dialect for one `node:sqlite` connection. Its transactions take the write lock when they begin. */
export class ImmediateSqliteDialect extends SqliteDialect {
  /** The raw connection, for statements before the first query. */
  readonly connection: DatabaseSyncInstance;
  readonly #database: SqliteDatabase;

  constructor(path: string) {
    const connection = new DatabaseSync(path);
    const database = toKyselyDatabase(connection);
    super({ database });
    this.connection = connection;
    this.#database = database;
  }

  /** Runs the writes inside of the connection's open transaction. */
  runEach(writes: readonly RowsWrite[]): void {
    for (const { statement, rows } of writes) {
      const prepared = this.#database.prepare(statement.sql);
      for (const row of rows) prepared.run(row);
    }
  }

  /**
   * Runs a whole transaction without yielding to the event loop, so that no other query comes between. Only a durable
   * one waits for the disk. Without that wait the data survives the death of a process, but not a power cut before the
   * next durable commit, which writes everything before it to the disk too.
   */
  commitEach(writes: readonly RowsWrite[], isDurable: boolean): void {
    if (isDurable) this.connection.exec(WAIT_FOR_DISK);
    try {
      this.#database.prepare('begin immediate').run([]);
      this.runEach(writes);
      this.#database.prepare('commit').run([]);
    } catch (error) {
      if (this.connection.isTransaction) this.#database.prepare('rollback').run([]);
      throw error;
    } finally {
      if (isDurable) this.connection.exec(WAIT_FOR_NOTHING);
    }
  }

  override createDriver(): Driver {
    return new ImmediateSqliteDriver(this.#database, this.connection);
  }

  override createAdapter(): DialectAdapter {
    return new TransactionalSqliteAdapter();
  }
}

class ImmediateSqliteDriver extends SqliteDriver {
  readonly #connection: DatabaseSyncInstance;

  constructor(database: SqliteDatabase, connection: DatabaseSyncInstance) {
    super({ database });
    this.#connection = connection;
  }

  /**
   * A plain `begin` would take the lock at the first write, and fail there if another process wrote after its first
   * read.
   */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    this.#connection.exec(WAIT_FOR_DISK);
    try {
      await connection.executeQuery(CompiledQuery.raw('begin immediate'));
    } catch (error) {
      this.#relax();
      throw error;
    }
  }

  override async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await super.commitTransaction(connection);
    this.#relax();
  }

  /** Some errors, such as a full disk, have already ended the transaction. A second rollback would hide them. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#connection.isTransaction) await super.rollbackTransaction(connection);
    this.#relax();
  }

  /** Writes outside of a transaction do not wait for the disk. */
  #relax(): void {
    this.#connection.exec(WAIT_FOR_NOTHING);
  }
}

/** DDL is transactional in SQLite. Migrations run under the write lock, which is also the lock between processes. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

function toKyselyDatabase(connection: DatabaseSyncInstance): SqliteDatabase {
  const prepared = new Map<string, SqliteStatement>();
  return {
    close: () => connection.close(),
    prepare(sql) {
      const known = prepared.get(sql);
      // Deleting and setting it again moves it to the end, as the most recently used.
      if (known !== undefined) prepared.delete(sql);
      const statement = known ?? toKyselyStatement(connection, sql);
      prepared.set(sql, statement);
      if (prepared.size > MAX_PREPARED) prepared.delete(prepared.keys().next().value ?? '');
      return statement;
    },
  };
}

/**
 * Result codes of https://www.sqlite.org/rescode.html: BUSY and LOCKED; FULL, and IOERR_SHMSIZE of a full disk;
 * READONLY, IOERR and CANTOPEN of a disk that is gone; CONSTRAINT_PRIMARYKEY and CONSTRAINT_UNIQUE.
 */
const BUSY: ReadonlySet<unknown> = new Set([5, 6]);
const FULL: ReadonlySet<unknown> = new Set([13, 4874]);
const AWAY: ReadonlySet<unknown> = new Set([8, 10, 14]);
const TAKEN: ReadonlySet<unknown> = new Set([1555, 2067]);

/** Codes of a SQLite error. */
export interface SqliteCodes {
  readonly sqliteCode?: unknown;
  readonly sqliteExtendedCode?: unknown;
}

/** Translates an error of SQLite into one of every store. An error without a translation is returned as it is. */
export function toStoreError(error: unknown): unknown {
  const { sqliteCode, sqliteExtendedCode } = error as SqliteCodes;
  if (FULL.has(sqliteCode) || FULL.has(sqliteExtendedCode)) return storeIsFull(error);
  if (BUSY.has(sqliteCode)) return storeIsBusy(error);
  if (AWAY.has(sqliteCode)) return storeIsAway(error);
  if (TAKEN.has(sqliteExtendedCode)) return new UniqueViolationError(messageOf(error), { cause: error });
  return error;
}

function told<T>(execute: () => T): T {
  try {
    return execute();
  } catch (error) {
    throw toStoreError(error);
  }
}

function toKyselyStatement(connection: DatabaseSyncInstance, sql: string): SqliteStatement {
  const statement = connection.prepare(sql);
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => told(() => statement.all(...parameters)),
    run: (parameters) => told(() => statement.run(...parameters)),
    // Each cursor has its own statement: the next use of a shared one would reset a cursor that is still open.
    iterate: (parameters) => connection.prepare(sql).iterate(...parameters),
  };
}
