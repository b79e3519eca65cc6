import type { Database } from '../database/database.ts';
import { openBullQueue } from './bullmq-queue.ts';
import { createDatabaseQueue } from './database-queue.ts';
import type { RunQueue } from './run-queue.ts';

/**
 * The queue of an installation: a table of its database, or BullMQ's where an address says so.
 *
 * @param url `redis://…`, `rediss://…` or `postgres://…`: of BullMQ. Undefined: the database's own.
 * @throws Error that says what to do, where nothing answers at the address. The caller closes what it gets.
 */
export async function openQueue(url: string | undefined, database: Database): Promise<RunQueue> {
  return url === undefined ? createDatabaseQueue(database) : await openBullQueue({ url, database });
}
