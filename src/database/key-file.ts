import { createHash } from 'node:crypto';
import { resolve } from 'node:path';

export const DEFAULT_DATABASE_URL = 'sqlite:.proctor/proctor.db';

const MAX_NAME_CHARACTERS = 80;

/**
 * Where the key that a first start makes of a database is kept, relative to the working directory: `.proctor/key` for the
 * default database, a file of its own in `.proctor/keys` for every other, so that no database overwrites another's key.
 *
 * @param databaseUrl as for `openDatabase`. User, password and options are no part of the name.
 */
export function keyFileOf(databaseUrl: string, directory: string): string {
  const identity = identityOf(databaseUrl, directory);
  if (identity === identityOf(DEFAULT_DATABASE_URL, directory)) return '.proctor/key';
  const shown = nameOf(databaseUrl).replaceAll(/[^\w.-]+/g, '-');
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 8);
  return `.proctor/keys/${shown.slice(0, MAX_NAME_CHARACTERS)}-${hash}`;
}

/** Equal for addresses of one database. */
function identityOf(databaseUrl: string, directory: string): string {
  const path = sqlitePath(databaseUrl);
  if (path === undefined) return nameOf(databaseUrl);
  return path === ':memory:' ? databaseUrl : `sqlite:${resolve(directory, path)}`;
}

/** `postgres-127.0.0.1-5432-proctor`, `sqlite-data/runs.db` */
function nameOf(databaseUrl: string): string {
  const path = sqlitePath(databaseUrl);
  if (path !== undefined) return `sqlite-${path}`;
  if (!URL.canParse(databaseUrl)) return 'postgres';
  const { hostname, port, pathname } = new URL(databaseUrl);
  const host = hostname === 'localhost' || hostname === '[::1]' ? '127.0.0.1' : hostname;
  return `postgres-${host}-${port || '5432'}-${pathname.slice(1)}`;
}

function sqlitePath(databaseUrl: string): string | undefined {
  return databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : undefined;
}
