import type { CompiledQuery, Kysely, Transaction } from 'kysely';
import type { DatabaseSchema } from './schema.ts';

/** The one database of a Proctor installation: traces, queue, keys and sign-ins. */
export interface Database {
  readonly kind: 'sqlite' | 'postgres';
  /** Opens another connection to it with `openDatabase`; it may hold a password. Absent for a database in memory. */
  readonly address?: string;
  /** For reads, and for writes that stand alone. Inside of `transaction` use what that hands over: this would wait for it. */
  readonly kysely: Kysely<DatabaseSchema>;
  /**
   * For reads over very many rows. On SQLite they run in a thread of their own, so that the event loop goes on; a database
   * in memory has no such thread. They see everything that was committed before.
   */
  readonly scans: Kysely<DatabaseSchema>;
  /**
   * Runs `write` in a transaction. When it resolves it is on the disk, and with it everything that was committed
   * before: it survives a power cut.
   *
   * On SQLite it has the write lock from the start, so that nobody else writes meanwhile. On Postgres others do, and
   * `write` runs again when two of them locked each other out: it changes nothing but the database.
   */
  transaction<T>(
    write: (transaction: DatabaseTransaction) => Promise<T>,
    options?: {
      /** Tables that nobody else writes meanwhile, on Postgres too: for what is checked first and written then. */
      readonly locking?: readonly (keyof DatabaseSchema)[];
    },
  ): Promise<T>;
  /**
   * Runs each write once for each of its rows, in order and all or none: for many rows, where dispatching each query
   * costs. No row is changed twice, and no write reads what another one has written: on Postgres all are one statement.
   *
   * Without a transaction they are one of their own. When it resolves, it survives `kill -9`; a power cut too where it
   * is to be durable, and else from the next `transaction` on.
   */
  runEach(
    writes: readonly RowsWrite[],
    options?: { readonly transaction?: DatabaseTransaction | undefined; readonly isDurable?: boolean | undefined },
  ): Promise<void>;
  /** Where its server passes them on. */
  readonly hints?: Hints;
  close(): Promise<void>;
}

/** One statement, with its parameters for each row. */
export interface RowsWrite {
  readonly statement: CompiledQuery;
  readonly rows: readonly (readonly unknown[])[];
}

/** Says to the other processes of a database that there may be something for them. It may get lost: whoever relies on it looks by itself too. */
export interface Hints {
  /** After the commit of what they should find; at once, and not more often than every 10 ms. */
  send(): void;
  /** Calls back for those of every process, this one's own too, and when some may have been missed. Returns the way to stop. */
  hear(listener: () => void): () => void;
}

export type DatabaseTransaction = Transaction<DatabaseSchema>;

const toldAfterCommit = new WeakMap<DatabaseTransaction, (() => void)[]>();

/** Has `callback` called once the transaction is committed, and never when it is undone. */
export function afterCommit(transaction: DatabaseTransaction, callback: () => void): void {
  const callbacks = toldAfterCommit.get(transaction);
  if (callbacks === undefined) toldAfterCommit.set(transaction, [callback]);
  else callbacks.push(callback);
}

/** For those who make transactions: runs `write`, and once `execute` has committed it tells who wanted to know. */
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

/** Whether the database answers. */
export function storeCheck(database: Database): { readonly name: string; failed(): Promise<readonly string[]> } {
  return {
    name: 'store',
    async failed() {
      await database.kysely.selectFrom('traces').select('trace_id').limit(1).execute();
      return [];
    },
  };
}
