import type { Database } from '../database/database.ts';
import { withoutPassword } from '../database/postgres/postgres-address.ts';
import { createDatabaseQueue } from './database-queue.ts';
import type { RunQueue } from './run-queue.ts';

/**
 * The queue of an installation: a table of its database, or BullMQ's queue on Redis.
 *
 * @param url `redis://…` or `rediss://…`. Undefined selects the table of the database.
 * @throws Error that says what to do for a wrong address, or one that does not answer. The caller closes the queue.
 */
export async function openQueue(url: string | undefined, database: Database): Promise<RunQueue> {
  if (url === undefined) return createDatabaseQueue(database);
  if (!/^rediss?:/.test(url)) throw new Error(notRedis(url));
  const { openBullQueue } = await import('./bullmq-queue.ts');
  return await openBullQueue({ url, database });
}

function notRedis(url: string): string {
  const shown = URL.canParse(url) ? withoutPassword(new URL(url)).href : 'of PROCTOR_QUEUE_URL';
  return `Cannot open the queue ${shown}: PROCTOR_QUEUE_URL takes redis://… or rediss://…. Without it the queue is a table of the database, on Postgres too.`;
}
