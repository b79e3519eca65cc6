import type { CompiledQuery, Kysely, Transaction } from 'kysely';
import type { DatabaseSchema } from './tables/schema.ts';

/** The database of a Proctor installation: traces, queue, keys and sign-ins. */
export interface Database {
  readonly kind: 'sqlite' | 'postgres';
  /** The address for another `openDatabase`. It may hold a password. Absent for a database in memory. */
  readonly address?: string;
  /**
   * For reads, and for single writes. Inside of `transaction` use the transaction: this connection would wait for its
   * end.
   */
  readonly kysely: Kysely<DatabaseSchema>;
  /**
   * For reads over very many rows. On SQLite they run in a separate thread, so that the event loop is free; a database
   * in memory has no such thread. They see everything that was committed before.
   */
  readonly scans: Kysely<DatabaseSchema>;
  /**
   * Runs `write` in a transaction. When it resolves, this commit and all earlier ones are on the disk and survive a
   * power cut.
   *
   * On SQLite the transaction has the write lock from the start, so there is no other writer. Postgres allows other
   * writers, and `write` runs again after a deadlock: it must change nothing but the database.
   */
  transaction<T>(
    write: (transaction: DatabaseTransaction) => Promise<T>,
    options?: {
      /** Tables to lock against other writers, on Postgres too: for a check that a later write depends on. */
      readonly locking?: readonly (keyof DatabaseSchema)[];
    },
  ): Promise<T>;
  /**
   * Runs each write once for each of its rows, in order, all or none. It saves the cost of one query for each row. No
   * two writes may change the same row, and no write may read the rows of another: on Postgres all are one statement.
   *
   * Without `transaction` they get one of their own. When it resolves, the rows survive `kill -9`. They survive a power
   * cut if `isDurable` is set, and otherwise after the next `transaction`.
   */
  runEach(
    writes: readonly RowsWrite[],
    options?: { readonly transaction?: DatabaseTransaction | undefined; readonly isDurable?: boolean | undefined },
  ): Promise<void>;
  /** Absent when the database cannot pass on hints. */
  readonly hints?: Hints;
  close(): Promise<void>;
}

/** One statement, with a list of parameters for each row. */
export interface RowsWrite {
  readonly statement: CompiledQuery;
  readonly rows: readonly (readonly unknown[])[];
}

/**
 * Tells the other processes of a database that there may be new work. A hint may get lost, so listeners also have to
 * poll.
 */
export interface Hints {
  /** Call it after the commit of the new work. The first hint goes out at once, further ones at most every 10 ms. */
  send(): void;
  /**
   * Calls back for the hints of every process, including this one, and after hints may have been missed. @returns a
   * function that stops the calls.
   */
  hear(listener: () => void): () => void;
}

export type DatabaseTransaction = Transaction<DatabaseSchema>;

const toldAfterCommit = new WeakMap<DatabaseTransaction, (() => void)[]>();

/** Calls `callback` once the transaction is committed, and never when it is rolled back. */
export function afterCommit(transaction: DatabaseTransaction, callback: () => void): void {
  const callbacks = toldAfterCommit.get(transaction);
  if (callbacks === undefined) toldAfterCommit.set(transaction, [callback]);
  else callbacks.push(callback);
}

/**
 * For implementations of `transaction`: runs `write`, and calls the callbacks of `afterCommit` once `execute` has
 * committed.
 */
export async function committing<T>(
  execute: (write: (transaction: DatabaseTransaction) => Promise<T>) => Promise<T>,
  write: (transaction: DatabaseTransaction) => Promise<T>,
): Promise<T> {
  let callbacks: readonly (() => void)[] = [];
  const result = await execute(async (transaction) => {
    const written = await write(transaction);
    callbacks = toldAfterCommit.get(transaction) ?? [];
    return written;
  });
  for (const callback of callbacks) callback();
  return result;
}

/** A health check that fails when the database does not answer. */
export function storeCheck(database: Database): { readonly name: string; failed(): Promise<readonly string[]> } {
  return {
    name: 'store',
    async failed() {
      await database.kysely.selectFrom('traces').select('trace_id').limit(1).execute();
      return [];
    },
  };
}
