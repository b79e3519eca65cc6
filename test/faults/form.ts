import { z } from 'zod';
import { findRedisServer } from '../redis.ts';

/** `npm run test:faults` plays every fault in full; elsewhere, as in `npm test`, each has a short form. */
export const IS_FULL = process.env.FAULT_FORM === 'full';

/** Rounds of what happens at random. */
export const ROUNDS = IS_FULL ? Number(process.env.FAULT_ROUNDS ?? 20) : 1;

/** Seed of the first round; each next round adds one. Short forms always play the same round. */
export const SEED = Number(process.env.FAULT_SEED ?? (IS_FULL ? Math.floor(Math.random() * 2 ** 31) : 1));

/** Short forms wait side by side; in full each has the machine to itself, so that its seconds say something. */
export const SIDE_BY_SIDE = { concurrent: !IS_FULL, timeout: IS_FULL ? 2_400_000 : 180_000 } as const;

/** Where rows and queue are: a SQLite file; Postgres; Postgres with the queue on Redis. */
export const STORE_KINDS = ['sqlite', 'postgres', 'redis'] as const;
export type StoreKind = (typeof STORE_KINDS)[number];

export const HAS_REDIS = findRedisServer() !== undefined;
if (!HAS_REDIS) console.warn('skipped: faults on Redis, since there is no redis-server (apt-get install redis-server)');

/** The stores that rounds go through: `FAULT_STORE` alone where it is set; in the short form the one that needs no server. */
export function storesOfRounds(): readonly StoreKind[] {
  const wanted = process.env.FAULT_STORE;
  if (wanted !== undefined) return [z.enum(STORE_KINDS).parse(wanted)];
  if (!IS_FULL) return ['sqlite'];
  return STORE_KINDS.filter((kind) => kind !== 'redis' || HAS_REDIS);
}
