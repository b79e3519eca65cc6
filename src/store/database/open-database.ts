import type { Database } from './database.ts';

/**
 * Opens the database at an address and brings its schema up to date. Several processes may have one database open.
 *
 * @param url `sqlite:<path>`, relative to the working directory; a missing file and its folder are created, readable by
 * their owner alone. `sqlite::memory:` is a database in memory that ends with `close`. Or
 * `postgres://user:password@host:5432/database`, which has to exist, with the `sslmode` and `sslrootcert` of libpq.
 * @throws Error with the address without its password, the reason and the way out. The caller closes the database.
 */
export async function openDatabase(url: string): Promise<Database> {
  // Each branch loads only its own driver.
  if (/^postgres(ql)?:/.test(url)) {
    const { openPostgres } = await import('./postgres/postgres.ts');
    return await openPostgres(url);
  }
  const { openSqlite } = await import('./sqlite/sqlite.ts');
  return await openSqlite(url);
}
