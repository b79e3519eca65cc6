import type { Database } from './database.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';

/**
 * Opens the database that the address names and brings its schema up to date. Several processes may have one open.
 *
 * @param url `sqlite:<path>`, relative to the working directory; a missing file and its folder are made, readable by
 *   their owner alone. `sqlite::memory:` is a database of this process that ends with `close`. Or
 *   `postgres://user:password@host:5432/database`, which has to be there, with the `sslmode` and `sslrootcert` of libpq.
 * @throws Error naming the address, without its password, the reason and the way out. The caller closes what it gets.
 */
export async function openDatabase(url: string): Promise<Database> {
  return /^postgres(ql)?:/.test(url) ? await openPostgres(url) : await openSqlite(url);
}
