import type { Kysely, Transaction } from 'kysely';
import type { DatabaseSchema } from './schema.ts';

/** The one database of a Proctor installation: traces, queue, keys and sign-ins. */
export interface Database {
  /** For reads, and for writes that stand alone. Inside of `transaction` use what that hands over: this would wait for it. */
  readonly kysely: Kysely<DatabaseSchema>;
  /** Runs `write` in a transaction that takes the write lock first; commits are durable when it resolves. */
  transaction<T>(write: (transaction: DatabaseTransaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export type DatabaseTransaction = Transaction<DatabaseSchema>;
