import { createHash } from 'node:crypto';
import { resolve } from 'node:path';

export const DEFAULT_DATABASE_URL = 'sqlite:.proctor/proctor.db';

const MAX_NAME_CHARACTERS = 80;

/**
 * File of the key that the first start creates for a database, relative to the working directory. The default database
 * has `.proctor/key`. Every other has a file of its own in `.proctor/keys`, so that databases do not overwrite each
 * other's key.
 *
 * @param databaseUrl as for `openDatabase`. User, password and options do not affect the name.
 */
export function keyFileOf(databaseUrl: string, directory: string): string {
  const identity = identityOf(databaseUrl, directory);
  if (identity === identityOf(DEFAULT_DATABASE_URL, directory)) return '.proctor/key';
  const shown = nameOf(databaseUrl).replaceAll(/[^\w.-]+/g, '-');
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 8);
  return `.proctor/keys/${shown.slice(0, MAX_NAME_CHARACTERS)}-${hash}`;
}

/** A name that is equal for all addresses of one database. */
function identityOf(databaseUrl: string, directory: string): string {
  const path = sqlitePath(databaseUrl);
  if (path === undefined) return nameOf(databaseUrl);
  return path === ':memory:' ? databaseUrl : `sqlite:${resolve(directory, path)}`;
}

/** Such as `postgres-127.0.0.1-5432-proctor` or `sqlite-data/runs.db`. */
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
