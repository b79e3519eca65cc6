import type { Kysely } from 'kysely';

/** Creates the table of open seats, each with the process that holds it. */
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

/** Open seats of agents. All other data of a seat is in its trace and in the memory of its owner. */
export interface SeatsTable {
  trace_id: string;
  account: string;
  /** SHA-256 of the seat's secret, in hex. */
  secret_hash: string;
  /** JSON of the owner process (store/database/row-lease.ts). */
  owner: string;
  /** Time of the owner's last sign of life. */
  seen_at: number;
}
