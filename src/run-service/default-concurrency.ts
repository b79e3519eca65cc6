import { availableParallelism } from 'node:os';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import { type EnvironmentPool, PROCESS_BYTES } from '../client/environment-pool.ts';

/** Runs of one worker at once, where nobody has set a number. */
const MAX_CONCURRENCY = 512;

/** Runs of an environment that a worker executes at once, where nobody has set a number. */
export function defaultCapacity(target: EnvironmentTarget, pool: EnvironmentPool): number {
  const shared = pool.capacityOf(target);
  if (shared !== undefined) return shared;
  const cores = availableParallelism();
  if (target.kind === 'memory' || target.kind === 'url') return cores;
  return Math.max(1, Math.min(cores, Math.floor(process.availableMemory() / PROCESS_BYTES)));
}

/** Runs of all environments together. An environment that shares processes counts with them once it has said so. */
export function defaultConcurrency(environments: Iterable<EnvironmentTarget>, pool: EnvironmentPool): number {
  let sum = 0;
  for (const target of environments) sum += defaultCapacity(target, pool);
  return Math.min(MAX_CONCURRENCY, Math.max(sum, availableParallelism()));
}
