import { join } from 'node:path';
import { sharedPostgres } from '../postgres.ts';
import { sharedRedis } from '../redis.ts';
import type { StoreKind } from './form.ts';

/** Addresses as the variables of the command have them. */
export interface Stores {
  readonly databaseUrl: string;
  /** Undefined: the queue is in the database. */
  readonly queueUrl?: string | undefined;
}

/**
 * Empty ones of this kind, on servers that every round of this process shares.
 *
 * @param directory where a SQLite file goes.
 */
export async function openStores(kind: StoreKind, directory: string): Promise<Stores> {
  if (kind === 'sqlite') return { databaseUrl: `sqlite:${join(directory, 'proctor.db')}` };
  const postgres = await sharedPostgres();
  const databaseUrl = await postgres.createDatabase();
  if (kind === 'postgres') return { databaseUrl };
  const redis = await sharedRedis();
  await redis.flush();
  return { databaseUrl, queueUrl: redis.url };
}
