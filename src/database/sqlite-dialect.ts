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
import { messageOf } from '../contract/errors.ts';
import type { RowsWrite } from './database.ts';
import { storeIsAway, storeIsBusy, storeIsFull, UniqueViolationError } from './store-errors.ts';

/** Statements kept prepared for each connection; the least recently used goes first. */
const MAX_PREPARED = 200;

/** How a commit treats the disk. SQLite refuses to change it within a transaction. */
const WAIT_FOR_DISK = 'pragma synchronous = full';
const WAIT_FOR_NOTHING = 'pragma synchronous = normal';

/** Kysely on one connection of the `node:sqlite` API. Its transactions take the write lock when they begin. */
export class ImmediateSqliteDialect extends SqliteDialect {
  /** For what has to happen before the first query. */
  readonly connection: DatabaseSyncInstance;
  readonly #database: SqliteDatabase;

  constructor(path: string) {
    const connection = new DatabaseSync(path);
    const database = toKyselyDatabase(connection);
    super({ database });
    this.connection = connection;
    this.#database = database;
  }

  /** Inside of the transaction that the connection is in. */
  runEach(writes: readonly RowsWrite[]): void {
    for (const { statement, rows } of writes) {
      const prepared = this.#database.prepare(statement.sql);
      for (const row of rows) prepared.run(row);
    }
  }

  /**
   * A transaction from begin to commit without a turn of the event loop, so that nobody else's query comes between. Only
   * a durable one waits for the disk: the death of a process loses nothing of another, a power cut may, up to the next
   * one that waits, which brings everything before it to the disk too.
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

  /** A plain `begin` would take the lock at the first write, and fail there if another process wrote since its first read. */
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

  /** Some errors (a full disk among them) have ended the transaction already; a second rollback would hide them. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#connection.isTransaction) await super.rollbackTransaction(connection);
    this.#relax();
  }

  /** A write outside of a transaction does not wait for the disk. */
  #relax(): void {
    this.#connection.exec(WAIT_FOR_NOTHING);
  }
}

/** DDL is transactional in SQLite: migrations run under the write lock, which is also the lock between processes. */
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
      if (known !== undefined) prepared.delete(sql); // to the end: most recently used
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

/** The error that every store has for one of SQLite; any other stays as it is. */
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
    // A statement of its own: a cursor that is still open must not be reset by the next user of the prepared one.
    iterate: (parameters) => connection.prepare(sql).iterate(...parameters),
  };
}
