import { type Kysely, sql } from 'kysely';

/**
 * What workers look for many times a second, each as a few rows of an index of its own: the next entry of an environment and a key,
 * entries whose lease ran out, and runs that have no end yet.
 */
export async function createQueueLanes(database: Kysely<unknown>): Promise<void> {
  const { schema } = database;
  for (const column of ['env_name', 'key_id'] as const) {
    await schema
      .alterTable('queue')
      .addColumn(column, 'text', (added) => added.notNull().defaultTo(''))
      .execute();
    const ofRun = sql`select ${sql.ref(column)} from traces where traces.trace_id = queue.trace_id`;
    await sql`update queue set ${sql.ref(column)} = coalesce((${ofRun}), '')`.execute(database);
  }
  await schema
    .createIndex('queue_lanes')
    .on('queue')
    .columns(['env_name', 'key_id', 'priority desc', 'enqueued_at', 'trace_id'])
    .where(sql<boolean>`lease_until is null`)
    .execute();
  await schema
    .createIndex('queue_leased')
    .on('queue')
    .columns(['priority desc', 'enqueued_at', 'trace_id', 'lease_until'])
    .where(sql<boolean>`lease_until is not null`)
    .execute();
  await schema
    .createIndex('traces_unfinished')
    .on('traces')
    .column('trace_id')
    .where(sql<boolean>`(status = 'queued' or status = 'running') and origin = 'run'`)
    .execute();
}
