import type { Database } from '../database/database.ts';
import { withoutPassword } from '../database/postgres-address.ts';
import { openBullQueue } from './bullmq-queue.ts';
import { createDatabaseQueue } from './database-queue.ts';
import type { RunQueue } from './run-queue.ts';

/**
 * The queue of an installation: a table of its database, or BullMQ's queue on Redis where an address is set.
 *
 * @param url `redis://…` or `rediss://…`. Undefined: the table of the database.
 * @throws Error that says what to do, where the address is another one or nothing answers there. The caller closes what it gets.
 */
export async function openQueue(url: string | undefined, database: Database): Promise<RunQueue> {
  if (url === undefined) return createDatabaseQueue(database);
  if (!/^rediss?:/.test(url)) throw new Error(notRedis(url));
  return await openBullQueue({ url, database });
}

function notRedis(url: string): string {
  const shown = URL.canParse(url) ? withoutPassword(new URL(url)).href : 'of PROCTOR_QUEUE_URL';
  return `Cannot open the queue ${shown}: PROCTOR_QUEUE_URL takes redis://… or rediss://…. Without it the queue is a table of the database, on Postgres too.`;
}
