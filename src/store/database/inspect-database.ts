import { existsSync } from 'node:fs';
import { DatabaseSync } from '@photostructure/sqlite';
import { createPool } from './postgres/postgres.ts';
import { parsePostgresAddress, withoutPassword } from './postgres/postgres-address.ts';
import { toOpenError } from './postgres/postgres-errors.ts';
import { isKnownStep } from './tables/migrations.ts';

/** The state of a database and of its runs. Reading it changes nothing: an older schema is not migrated. */
export interface DatabaseReport {
  /** Name and version of the engine, such as `SQLite 3.53.0`. */
  readonly engine: string;
  /** Journal mode of SQLite, `wal` for databases of Proctor; null for Postgres. */
  readonly journalMode: string | null;
  /** The newest applied step of the schema; null before the first. */
  readonly schema: string | null;
  /** False for a step that this version does not know, because a newer version wrote it. */
  readonly isSchemaKnown: boolean;
  readonly bytes: number;
  readonly runs: { readonly queued: number; readonly running: number; readonly oldestQueuedAt: number | null };
  /** Number of queue entries in the database that a worker holds. */
  readonly leased: number;
  /** Keys in force, oldest first, at most 1,000: their names, and the SHA-256 of each in hex. */
  readonly keys: { readonly inForce: number; readonly named: readonly string[]; readonly hashes: readonly string[] };
}

/** Milliseconds to wait for a lock or a server. */
const PATIENCE_MS = 5_000;
/** Largest number of keys that are read. */
const MAX_KEYS = 1_000;

/**
 * Reads the state of a database; undefined if its file does not exist yet.
 *
 * @param url `sqlite:<path>` or `postgres://…`.
 * @throws Error with the reason why it does not open. For SQLite it is the driver's error.
 */
export async function inspectDatabase(url: string): Promise<DatabaseReport | undefined> {
  if (!url.startsWith('sqlite:')) return await inspectPostgres(url);
  const path = url.slice('sqlite:'.length);
  return existsSync(path) ? await inspectSqlite(path) : undefined;
}

type Row = Readonly<Record<string, unknown>>;
type Ask = (sql: string) => Promise<readonly Row[]>;

async function inspectSqlite(path: string): Promise<DatabaseReport> {
  const connection = new DatabaseSync(path, { readOnly: true, timeout: PATIENCE_MS });
  try {
    const ask: Ask = async (sql) => connection.prepare(sql).all();
    const [version] = await ask('select sqlite_version() as version');
    const [journal] = await ask('pragma journal_mode');
    const [size] = await ask('select page_count * page_size as bytes from pragma_page_count, pragma_page_size');
    const tables = await ask("select name from sqlite_master where type = 'table'");
    return {
      engine: `SQLite ${version?.version}`,
      journalMode: String(journal?.journal_mode),
      bytes: Number(size?.bytes),
      ...(await inspectTables(ask, tables)),
    };
  } finally {
    connection.close();
  }
}

async function inspectPostgres(address: string): Promise<DatabaseReport> {
  const url = parsePostgresAddress(address);
  const limits = { statement_timeout: PATIENCE_MS, query_timeout: PATIENCE_MS, connectionTimeoutMillis: PATIENCE_MS };
  const pool = await createPool(url, { max: 1, ...limits, options: '-c default_transaction_read_only=on' });
  try {
    const ask: Ask = async (sql) => (await pool.query(sql)).rows;
    const [version] = await ask('show server_version');
    const [size] = await ask('select pg_database_size(current_database()) as bytes');
    const tables = await ask('select tablename as name from pg_tables where schemaname = current_schema()');
    return {
      engine: `PostgreSQL ${version?.server_version}`,
      journalMode: null,
      bytes: Number(size?.bytes),
      ...(await inspectTables(ask, tables)),
    };
  } catch (error) {
    throw toOpenError(error, withoutPassword(url));
  } finally {
    await pool.end();
  }
}

async function inspectTables(
  ask: Ask,
  tables: readonly Row[],
): Promise<Omit<DatabaseReport, 'engine' | 'journalMode' | 'bytes'>> {
  const has = (name: string) => tables.some((table) => table.name === name);
  const askWhereThere = async (table: string, sql: string) => (has(table) ? await ask(sql) : []);
  const [step] = await askWhereThere(
    'kysely_migration',
    'select name from kysely_migration order by name desc limit 1',
  );
  // Chats, seats and episodes belong to the process that opened them and do not wait for a worker.
  // Account and status have an index. There may be a million finished runs, and this query reads none of them.
  const runs = await askWhereThere(
    'traces',
    `select status, count(*) as runs, min(created_at) as oldest from traces
      where account in (select distinct account from traces) and status in ('queued', 'running')
        and origin || '' not in ('chat', 'agent', 'ors', 'openenv')
      group by status`,
  );
  const [held] = await askWhereThere(
    'queue',
    `select count(*) as entries from queue where lease_until > ${Date.now()}`,
  );
  const keys = await askWhereThere(
    'api_keys',
    `select name, key_hash from api_keys where revoked_at is null order by created_at limit ${MAX_KEYS}`,
  );
  const schema = typeof step?.name === 'string' ? step.name : null;
  const countOf = (status: string) => Number(runs.find((row) => row.status === status)?.runs ?? 0);
  const oldest = runs.find((row) => row.status === 'queued')?.oldest;
  return {
    schema,
    isSchemaKnown: schema === null || isKnownStep(schema),
    runs: {
      queued: countOf('queued'),
      running: countOf('running'),
      oldestQueuedAt: oldest === undefined || oldest === null ? null : Number(oldest),
    },
    leased: Number(held?.entries ?? 0),
    keys: {
      inForce: keys.length,
      named: keys.map(({ name }) => String(name)),
      hashes: keys.map((key) => String(key.key_hash)),
    },
  };
}
