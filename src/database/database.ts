import type { CompiledQuery, Kysely, Transaction } from 'kysely';
import type { DatabaseSchema } from './schema.ts';

/** The one database of a Proctor installation: traces, queue, keys and sign-ins. */
export interface Database {
  /** For reads, and for writes that stand alone. Inside of `transaction` use what that hands over: this would wait for it. */
  readonly kysely: Kysely<DatabaseSchema>;
  /**
   * Runs `write` in a transaction that takes the write lock first. When it resolves it is on the disk, and with it
   * everything that was committed before: it survives a power cut.
   */
  transaction<T>(write: (transaction: DatabaseTransaction) => Promise<T>): Promise<T>;
  /**
   * Runs one write once for each list of parameters, in order: for many rows, where dispatching each query costs.
   * Without a transaction they are one of their own, which survives `kill -9` when it resolves, and a power cut from
   * the next `transaction` on.
   */
  runEach(
    write: CompiledQuery,
    parameters: readonly (readonly unknown[])[],
    transaction?: DatabaseTransaction,
  ): Promise<void>;
  close(): Promise<void>;
}

export type DatabaseTransaction = Transaction<DatabaseSchema>;

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
