import type { Logger } from 'pino';
import { LOCAL_ACCOUNT } from '../../../contract/names.ts';
import type { EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import { addPoolMetrics } from '../../../environment/client/pool/pool-metrics.ts';
import type { Accounts } from '../../../store/accounts/accounts.ts';
import { guardedBy } from '../../../store/accounts/guard.ts';
import { type Database, storeCheck } from '../../../store/database/database.ts';
import { queueCheck, type RunQueue } from '../../../store/queue/run-queue.ts';
import type { TraceStore } from '../../../store/traces/trace-store.ts';
import { createHttpApp } from '../../../support/http/app.ts';
import { createHealthRoutes } from '../../../support/http/health-routes.ts';
import { listen } from '../../../support/http/listen.ts';
import { createHttpMetrics } from '../../../support/http/metrics.ts';
import { assertBindAllowed } from '../../../support/http/origin-guard.ts';
import { PROCTOR_VERSION } from '../../../support/runtime/version.ts';
import { addRunMetrics } from '../metrics.ts';
import type { Worker } from './worker.ts';

export interface WorkerHealthOptions {
  readonly worker: Pick<Worker, 'active' | 'pool'>;
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly accounts: Accounts;
  readonly host: string;
  /** Port. 0 takes any free one. */
  readonly port: number;
  /** Host names, beside loopback, that `Host` may contain. */
  readonly allowedHosts?: readonly string[];
  readonly logger: Logger;
  /** Aborted when the worker stops. Then `/readyz` fails. */
  readonly stopping: AbortSignal;
}

export interface WorkerHealth {
  /** Address of the server, without a slash at the end. */
  readonly url: string;
  /** Closes the server within `graceMs` milliseconds. Never rejects. */
  close(graceMs: number): Promise<void>;
}

/**
 * Serves `/healthz`, `/readyz` (store and queue answer) and `/metrics` of a process that only executes runs. Beyond
 * loopback, metrics require a key.
 *
 * @throws Error with a way out for a port in use, and for a bind beyond loopback without an API key.
 */
export async function startWorkerHealth(options: WorkerHealthOptions): Promise<WorkerHealth> {
  const { worker, database, store, queue, accounts, host, port, allowedHosts = [], logger, stopping } = options;
  assertBindAllowed(
    host,
    await accounts.hasKeys({ except: [LOCAL_ACCOUNT] }),
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
