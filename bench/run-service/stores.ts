import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PostgresServer, startPostgres } from '../../test/postgres.ts';
import { findRedisServer, type RedisServer, startRedis } from '../../test/redis.ts';

export const STORE_NAMES = ['SQLite', 'Postgres', 'Postgres + BullMQ on Redis'] as const;
export type StoreName = (typeof STORE_NAMES)[number];

/** Where an installation keeps its traces and its queue. */
export interface StoreAddress {
  readonly databaseUrl: string;
  /** "": in the same database. */
  readonly queueUrl: string;
}

/** Stores as they would be used: what is committed is on the disk. Whoever opened them closes them. */
export interface Stores {
  /** Where there is no Redis here, those that need it are left out. */
  readonly names: readonly StoreName[];
  /** An empty one. */
  create(name: StoreName): Promise<StoreAddress>;
  close(): Promise<void>;
}

export async function openStores(): Promise<Stores> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-bench-'));
  let startedPostgres: Promise<PostgresServer> | undefined;
  let startedRedis: Promise<RedisServer> | undefined;
  const hasRedis = findRedisServer() !== undefined;
  if (!hasRedis) console.log('No redis-server here: what needs one is left out.');
  let created = 0;
  return {
    names: STORE_NAMES.filter((name) => hasRedis || !name.endsWith('Redis')),
    async create(name) {
      if (name === 'SQLite') return { databaseUrl: `sqlite:${join(folder, `${++created}.db`)}`, queueUrl: '' };
      startedPostgres ??= startPostgres({ isDurable: true });
      const databaseUrl = await (await startedPostgres).createDatabase();
      if (name === 'Postgres') return { databaseUrl, queueUrl: '' };
      startedRedis ??= startRedis();
      const redis = await startedRedis;
      await redis.flush();
      return { databaseUrl, queueUrl: redis.url };
    },
    async close() {
      await Promise.all([(await startedPostgres)?.close(), (await startedRedis)?.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
