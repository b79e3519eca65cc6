import type { Kysely } from 'kysely';

/** The open seats of agents, each with the process that holds it. */
export async function createSeats({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('seats')
    .addColumn('trace_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('secret_hash', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('seen_at', 'bigint', (column) => column.notNull())
    .execute();
}

/** Seats of agents that are open. Everything else of one is in its trace, and in the memory of its owner. */
export interface SeatsTable {
  trace_id: string;
  account: string;
  /** SHA-256 of its secret, hex. */
  secret_hash: string;
  /** JSON: the process that holds it (database/owner.ts). */
  owner: string;
  /** When that last said that it is there. */
  seen_at: number;
}
