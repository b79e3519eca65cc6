import { CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely';
import type { Pool, PoolConfig } from 'pg';
import { committing, type Database, type DatabaseTransaction } from '../database.ts';
import { migrateToLatest } from '../tables/migrations.ts';
import type { DatabaseSchema } from '../tables/schema.ts';
import { parsePostgresAddress, withoutPassword } from './postgres-address.ts';
import { PostgresConnections } from './postgres-connections.ts';
import { isContention, toOpenError } from './postgres-errors.ts';
import { PostgresHints } from './postgres-hints.ts';
import { type ColumnTypes, readColumnTypes, toOneStatement } from './postgres-rows.ts';

/** Connections per process. A server allows 100 by default, enough for eight such processes. */
const MAX_CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 10_000;

/** Limits of the server in milliseconds, for a query, for a lock, and for an idle transaction. */
const SERVER_LIMITS = {
  statement_timeout: 30_000,
  lock_timeout: 10_000,
  /** A process that stops in the middle of a transaction blocks others no longer than this. */
  idle_in_transaction_session_timeout: 5_000,
};
const SET_LIMITS = Object.entries(SERVER_LIMITS).map(([name, limitMs]) => `set ${name} = ${limitMs}`);
/** Client-side limit for a server that does not answer at all. It is longer than `statement_timeout`. */
const QUERY_TIMEOUT_MS = 40_000;

/** Largest number of tries of a transaction after deadlocks. */
const MAX_TRIES = 10;

/** Oldest supported version of Postgres. */
const MIN_VERSION = 13;

/**
 * Opens an existing database on Postgres and brings its schema up to date.
 *
 * @param address `postgres://user:password@host:5432/database`, with `sslmode`, `sslrootcert`, `sslcert` and `sslkey`
 * as in libpq. `sslmode=require` also checks the certificate, `no-verify` does not.
 * @throws Error that says what to do, for a server that does not answer, a wrong password, or a missing database.
 */
export async function openPostgres(address: string): Promise<Database> {
  const url = parsePostgresAddress(address);
  const shown = withoutPassword(url);
  try {
    await migrate(url);
  } catch (error) {
    throw toOpenError(error, shown);
  }
  const pool = await createPool(url, {
    max: MAX_CONNECTIONS,
    query_timeout: QUERY_TIMEOUT_MS,
    // The limits are set by a query, because poolers refuse them as connection options.
    onConnect: async (client) => void (await client.query(SET_LIMITS.join('; '))),
  });
  const kysely = new Kysely<DatabaseSchema>({ dialect: new PostgresDialect({ pool: new PostgresConnections(pool) }) });
  try {
    const types = await readColumnTypes(kysely);
    const hints = new PostgresHints({
      createPool: () => createPool(url, { max: 1 }),
      execute: (statement) => kysely.executeQuery(CompiledQuery.raw(statement)),
    });
    return { ...toDatabase(kysely, types, hints), address };
  } catch (error) {
    await kysely.destroy();
    throw toOpenError(error, shown);
  }
}

function toDatabase(kysely: Kysely<DatabaseSchema>, types: ColumnTypes, hints: PostgresHints): Database {
  const database: Database = {
    kysely,
    scans: kysely,
    kind: 'postgres',
    hints,
    async transaction(write, { locking = [] } = {}) {
      const locked = async (transaction: DatabaseTransaction) => {
        for (const table of locking) {
          await sql`lock table ${sql.table(table)} in share row exclusive mode`.execute(transaction);
        }
        return await write(transaction);
      };
      return await untilUncontended(() => committing((each) => kysely.transaction().execute(each), locked));
    },
    async runEach(writes, { transaction } = {}) {
      const some = writes.filter(({ rows }) => rows.length > 0);
      if (some.length === 0) return;
      const one = toOneStatement(some, types);
      if (one !== undefined) {
        await (transaction === undefined
          ? untilUncontended(() => kysely.executeQuery(one))
          : transaction.executeQuery(one));
        return;
      }
      const runAll = async (within: DatabaseTransaction) => {
        for (const { statement, rows } of some) {
          for (const parameters of rows) await within.executeQuery({ ...statement, parameters });
        }
      };
      await (transaction === undefined ? database.transaction(runAll) : runAll(transaction));
    },
    async close() {
      hints.close();
      await kysely.destroy();
    },
  };
  return database;
}

/** Runs a write again after a deadlock. */
async function untilUncontended<T>(write: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await write();
    } catch (error) {
      if (!isContention(error) || tries === MAX_TRIES) throw error;
    }
  }
}

/** Uses one connection without time limits: another process may be migrating, and a step over many rows takes long. */
async function migrate(url: URL): Promise<void> {
  const pool = await createPool(url, { max: 1 });
  const kysely = new Kysely<DatabaseSchema>({ dialect: new PostgresDialect({ pool: new PostgresConnections(pool) }) });
  try {
    const { rows } = await sql<{ server_version: string }>`show server_version`.execute(kysely);
    const version = rows[0]?.server_version ?? '';
    if (Number.parseInt(version, 10) < MIN_VERSION) {
      throw new Error(`Postgres ${version} is too old: ${MIN_VERSION} or newer is needed.`);
    }
    await migrateToLatest(kysely);
  } finally {
    await kysely.destroy();
  }
}

/** A pool of connections to a server. The caller ends it. */
export async function createPool(url: URL, config: PoolConfig): Promise<Pool> {
  const { default: pg } = await import('pg'); // Loading the driver takes 15 ms, so only Postgres users pay for it.
  const pool = new pg.Pool({
    connectionString: url.href,
    application_name: 'proctor',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    allowExitOnIdle: true,
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        NUMBERS.has(oid) ? Number : pg.types.getTypeParser(oid, format as 'text'),
    },
    ...config,
  });
  // The pool replaces idle connections that are lost. Without these listeners each loss would end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Type ids of int8 and numeric, which the driver returns as text. The values here are far below 2^53. */
const NUMBERS: ReadonlySet<number> = new Set([20, 1700]);
