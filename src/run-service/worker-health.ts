import type { Logger } from 'pino';
import type { Accounts } from '../accounts/accounts.ts';
import { guardedBy } from '../accounts/guard.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import { addPoolMetrics } from '../client/pool-metrics.ts';
import { type Database, storeCheck } from '../database/database.ts';
import { createHttpApp } from '../http/app.ts';
import { createHealthRoutes } from '../http/health-routes.ts';
import { listen } from '../http/listen.ts';
import { createHttpMetrics } from '../http/metrics.ts';
import { assertBindAllowed } from '../http/origin-guard.ts';
import { queueCheck, type RunQueue } from '../queue/run-queue.ts';
import { PROCTOR_VERSION } from '../runtime/version.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { addRunMetrics } from './metrics.ts';
import type { Worker } from './worker.ts';

export interface WorkerHealthOptions {
  readonly worker: Pick<Worker, 'active' | 'pool'>;
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly accounts: Accounts;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Names beside the loopback ones that Host may have. */
  readonly allowedHosts?: readonly string[];
  readonly logger: Logger;
  /** Aborted when the worker stops: it is not ready any more. */
  readonly stopping: AbortSignal;
}

export interface WorkerHealth {
  /** Without a slash at the end. */
  readonly url: string;
  /** Within so many milliseconds. Never rejects. */
  close(graceMs: number): Promise<void>;
}

/**
 * `GET /healthz`, `/readyz` (store and queue answer) and `/metrics` of a process that does nothing but execute runs, for
 * those who watch over it. As with every server of ours, metrics want a key where it listens beyond loopback.
 *
 * @throws Error that says what to do: for a port in use, and for a bind elsewhere than loopback while there is no API key.
 */
export async function startWorkerHealth(options: WorkerHealthOptions): Promise<WorkerHealth> {
  const { worker, database, store, queue, accounts, host, port, allowedHosts = [], logger, stopping } = options;
  assertBindAllowed(
    host,
    await accounts.hasKeys({ except: ['local'] }),
    'make one with "proctor keys create --name <name>"',
  );
  const metrics = createHttpMetrics();
  const stopRunMetrics = addRunMetrics(metrics.registry, { store, queue, activeRuns: () => worker.active });
  const stopPoolMetrics = addPoolMetrics(metrics.registry, worker.pool, options.environments);
  const stopMetrics = () => {
    stopRunMetrics();
    stopPoolMetrics();
  };
  const app = createHttpApp({
    title: 'Proctor worker',
    version: PROCTOR_VERSION,
    host,
    allowedHosts,
    logger,
    ...guardedBy(accounts),
    closing: stopping,
    observe: metrics.observe,
    routes: [
      ...createHealthRoutes({ checks: [storeCheck(database), queueCheck(queue)], closing: stopping }),
      metrics.route,
    ],
  });
  const listener = await listen(app, { host, port }).catch((error: unknown) => {
    stopMetrics();
    throw error;
  });
  return {
    url: listener.url,
    async close(graceMs) {
      await listener.close(graceMs);
      stopMetrics();
    },
  };
}
