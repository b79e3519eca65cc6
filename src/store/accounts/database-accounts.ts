import type { Database } from '../database/database.ts';
import type { Accounts } from './accounts.ts';
import { createDatabaseKeys } from './database-keys.ts';
import { createDatabaseSignIns } from './database-sign-ins.ts';

export interface AccountsOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** Keys and sign-ins in the database. The result holds no resources, so it needs no `close`. */
export function createAccounts(database: Database, { now = Date.now }: AccountsOptions = {}): Accounts {
  return { ...createDatabaseKeys(database, now), ...createDatabaseSignIns(database, now) };
}
