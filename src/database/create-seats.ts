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
