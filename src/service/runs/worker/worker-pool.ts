import { EnvironmentPool, type EnvironmentPoolOptions } from '../../../environment/client/pool/environment-pool.ts';

/** Default number of spare processes of each environment. */
export const DEFAULT_SPARES = 1;
/** Milliseconds that a spare process waits for the next run. */
export const SPARE_LIFE_MS = 10 * 60_000;

export interface WorkerPoolOptions extends Pick<EnvironmentPoolOptions, 'hosts' | 'startTimeoutMs'> {
  /** Spare processes of each environment, ready for the next run. */
  readonly spares?: number | undefined;
  readonly logger: { warn(line: string): void };
}

/** Creates the pool of a worker's environments. The caller closes it. */
export function createWorkerPool({ spares, hosts, startTimeoutMs, logger }: WorkerPoolOptions): EnvironmentPool {
  return new EnvironmentPool({
    perEnvironment: spares ?? DEFAULT_SPARES,
    hosts,
    startTimeoutMs,
    idleMs: SPARE_LIFE_MS,
    report: (line) => logger.warn(line),
  });
}
