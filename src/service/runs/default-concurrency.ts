import { availableParallelism } from 'node:os';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import { type EnvironmentPool, PROCESS_BYTES } from '../../environment/client/pool/environment-pool.ts';

/** Default limit for the concurrent runs of a worker. */
const MAX_CONCURRENCY = 512;

/** Default number of concurrent runs of one environment. */
export function defaultCapacity(target: EnvironmentTarget, pool: EnvironmentPool): number {
  const shared = pool.capacityOf(target);
  if (shared !== undefined) return shared;
  const cores = availableParallelism();
  if (target.kind === 'memory' || target.kind === 'url') return cores;
  return Math.max(1, Math.min(cores, Math.floor(process.availableMemory() / PROCESS_BYTES)));
}

/**
 * Default number of concurrent runs of all environments together. It grows when an environment reports that it
 * shares processes.
 */
export function defaultConcurrency(environments: Iterable<EnvironmentTarget>, pool: EnvironmentPool): number {
  let sum = 0;
  for (const target of environments) sum += defaultCapacity(target, pool);
  return Math.min(MAX_CONCURRENCY, Math.max(sum, availableParallelism()));
}
