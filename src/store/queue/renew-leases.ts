import type { Database } from '../database/database.ts';
import type { Lease } from './run-queue.ts';

/** Largest number of leases that one statement renews. */
const MAX_RENEWED = 500;

/**
 * Renews leases of the queue table, many in one statement.
 *
 * @param now milliseconds since 1970.
 * @returns the leases that were lost: the entry is gone, or another worker holds it.
 */
export async function renewLeases(
  database: Database,
  leases: readonly Lease[],
  now: () => number,
): Promise<readonly Lease[]> {
  const renewed = new Set<string>();
  for (const leaseMs of new Set(leases.map((lease) => lease.leaseMs))) {
    const sameLength = leases.filter((lease) => lease.leaseMs === leaseMs);
    for (let from = 0; from < sameLength.length; from += MAX_RENEWED) {
      const group = sameLength.slice(from, from + MAX_RENEWED);
      const traceIds = group.map(({ traceId }) => traceId);
      const tokens = group.map(({ token }) => token);
      const rows = await database.kysely
        .updateTable('queue')
        .set({ lease_until: now() + leaseMs })
        .where('trace_id', 'in', traceIds)
        .where('lease_token', 'in', tokens)
        .returning('lease_token')
        .execute();
      for (const { lease_token } of rows) if (lease_token !== null) renewed.add(lease_token);
    }
  }
  return leases.filter(({ token }) => !renewed.has(token));
}
