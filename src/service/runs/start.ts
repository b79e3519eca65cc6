import type { Logger } from 'pino';
import type { ServiceClient } from '../../client/service-client.ts';
import { LOCAL_ACCOUNT, SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import { catalogueCheck } from '../../environment/client/catalogue.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import { addPoolMetrics } from '../../environment/client/pool/pool-metrics.ts';
import { preloadSessions } from '../../environment/client/pool/preload-sessions.ts';
import type { Models } from '../../models/gateway/create-model.ts';
import type { Agents } from '../../rollout/agents/agents.ts';
import type { Seats } from '../../rollout/seats/seats.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import { guardedBy } from '../../store/accounts/guard.ts';
import { type Database, storeCheck } from '../../store/database/database.ts';
import { queueCheck, type RunQueue } from '../../store/queue/run-queue.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';
import type { Route } from '../../support/http/api/route.ts';
import { groupOf, RouteTable } from '../../support/http/api/route-table.ts';
import { createHttpApp } from '../../support/http/app.ts';
import { createHealthRoutes } from '../../support/http/health-routes.ts';
import { type HttpListener, listen } from '../../support/http/listen.ts';
import { createHttpMetrics } from '../../support/http/metrics.ts';
import { assertBindAllowed } from '../../support/http/origin-guard.ts';
import type { Secret } from '../../support/redaction/redactor.ts';
import { PROCTOR_VERSION } from '../../support/runtime/version.ts';
import { createImitationModels } from '../../training/imitation/imitation-models.ts';
import type { Training } from '../../training/training.ts';
import { addRunMetrics } from './metrics.ts';
import type { SeatSettings } from './seat-service.ts';
import { createService, type Service } from './service.ts';
import { enqueueForgottenRuns } from './worker/sweep.ts';
import type { WorkerSettings } from './worker/worker.ts';
import { createWorkerPool } from './worker/worker-pool.ts';

export interface RunServiceOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  /**
   * Searches environments and agents again, so that a running service notices new ones. It updates the map
   * `environments` and returns a message if something is wrong. Never rejects. Default: they never change.
   */
  readonly lookAgain?: (() => Promise<string | undefined>) | undefined;
  /** Project directory; `tasksets` in it holds tasksets. Default: the working directory. */
  readonly directory?: string;
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly accounts: Accounts;
  readonly models: Models;
  /** External agent programs. Default: none. */
  readonly agents?: Agents;
  /** Further routes, such as the trace pages. */
  readonly pages?: readonly Route[];
  readonly host: string;
  /** Port. 0 takes any free one. */
  readonly port: number;
  /** Address of the trace pages, without a slash at the end. */
  readonly appUrl: string;
  /**
   * Address at which other processes of the same database reach this one, without a slash at the end. Default: the
   * bound address.
   */
  readonly advertiseUrl?: string | undefined;
  /** Host names, beside loopback, that `Host` and `Origin` may contain. */
  readonly allowedHosts?: readonly string[];
  readonly logger: Logger;
  /** Settings of the worker. False: this process accepts runs but plays none. */
  readonly worker?: WorkerSettings | false;
  /** Limit of `close` in milliseconds. Default 10,000. */
  readonly shutdownGraceMs?: number;
  /**
   * Keys of gateways, trainers and the service. A check looks for them in the processes of environments. Default: no
   * known keys.
   */
  readonly operatorKeys?: readonly Secret[];
  /** For tests: milliseconds between the comments of a stream. Default 10,000. */
  readonly keepAliveMs?: number;
  readonly seats?: SeatSettings;
  /** Jobs and trainers. Default: training on this database with `proctor/imitation` only. */
  readonly training?: () => Promise<Training>;
  /** Clock in milliseconds since 1970, for stored times. */
  readonly now?: () => number;
}

export interface RunService {
  /** Address of the service, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Client without a socket or key, for the account `local`. */
  readonly client: ServiceClient;
  /**
   * Refuses new work (503 `shutting_down`), gives running runs back to the queue, and lets requests finish within the
   * budget. The caller closes database, store and queue. Never rejects.
   */
  close(): Promise<void>;
}

/**
 * Starts the run service (contract section 3): an HTTP server and, by default, a worker in this process.
 *
 * @throws Error with a way out for a port in use, an address of another machine, and a bind beyond loopback without an
 * API key. After an error only the parts that the caller passed in are open.
 */
export async function startRunService(given: RunServiceOptions): Promise<RunService> {
  // The trainer `proctor/imitation` stores its models in the database, so only this process can serve them.
  const options: RunServiceOptions = { ...given, models: given.models.serving(createImitationModels(given.database)) };
  const { host, port, accounts, logger, database, store, queue } = options;
  // The key `local` does not count: the first start creates it by itself.
  const hasKey = await accounts.hasKeys({ except: [LOCAL_ACCOUNT] });
  assertBindAllowed(host, hasKey, 'make one with "proctor keys create --name <name>"');

  preloadSessions();
  const { pool: shared, ...workerSettings } = options.worker || {};
  const pool = shared ?? createWorkerPool({ ...workerSettings, logger });
  const service = createService({ ...options, pool, closesPool: shared === undefined });
  const metrics = createHttpMetrics();
  let listener: HttpListener | undefined;
  try {
    const desk = await service.seats();
    const health = createHealthRoutes({
      checks: [storeCheck(database), queueCheck(queue), catalogueCheck(service.catalogue, logger)],
      closing: service.closing,
    });
    const app = createHttpApp({
      title: 'Proctor run service',
      version: PROCTOR_VERSION,
      host,
      allowedHosts: [...(options.allowedHosts ?? []), ...ownHosts(options)],
      logger,
      ...guardedBy(accounts),
      closing: service.closing,
      observe: metrics.observe,
      mounts: [...desk.mounts],
      routes: new RouteTable([...service.routes.groups, groupOf(...health, metrics.route, ...(options.pages ?? []))]),
    });
    listener = await listen(app, { host, port });
    desk.seats.advertise(options.advertiseUrl ?? listener.url);
    await clearUp(desk.seats, options);
    if (options.worker !== false) await service.startWorker({ ...workerSettings, address: listener.url });
  } catch (error) {
    await service.close(0);
    await listener?.close(0);
    throw error;
  }
  const stopMetrics = addRunMetrics(metrics.registry, { store, queue, activeRuns: () => service.worker?.active ?? 0 });
  const stopPoolMetrics = service.worker && addPoolMetrics(metrics.registry, pool, options.environments);
  return runServiceOf(service, listener, {
    graceMs: options.shutdownGraceMs,
    shutDown: () => pool.shutDown(),
    onClosed() {
      stopMetrics();
      stopPoolMetrics?.();
    },
  });
}

/**
 * Cleans up after earlier processes: ends seats without a holder, and queues accepted runs that have no queue entry.
 */
async function clearUp(
  seats: Pick<Seats, 'endOrphans'>,
  { database, queue, logger }: RunServiceOptions,
): Promise<void> {
  const orphans = await seats.endOrphans();
  if (orphans > 0) logger.warn({ seats: orphans }, 'Seats of a service that is gone were ended as failed');
  const forgotten = await enqueueForgottenRuns(database, queue);
  if (forgotten > 0) logger.warn({ runs: forgotten }, 'Accepted runs without an entry in the queue were enqueued');
}

interface Closing {
  readonly graceMs: number | undefined;
  /** Runs the shutdown hooks of the sessions. */
  shutDown(): void;
  onClosed(): void;
}

function runServiceOf(
  service: Service,
  { url, port, close: stopListening }: HttpListener,
  { graceMs = SHUTDOWN_GRACE_MS.service, shutDown, onClosed }: Closing,
): RunService {
  let closed: Promise<void> | undefined;
  const close = async () => {
    const endsAt = performance.now() + graceMs * CLOSING_SHARE;
    const remainingMs = () => Math.max(0, endsAt - performance.now());
    shutDown();
    await service.close(remainingMs() * SERVICE_SHARE);
    await stopListening(remainingMs());
    onClosed();
  };
  return {
    url,
    port,
    client: service.client,
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** Share of the shutdown budget for the service. The rest is for the database and the end of the process. */
const CLOSING_SHARE = 0.95;
/** Part of that share for runs and seats. The rest is for replies that are being sent. */
const SERVICE_SHARE = 0.9;

/** Hosts of this server itself: other processes use the advertised address. */
function ownHosts({ advertiseUrl, host }: RunServiceOptions): readonly string[] {
  if (advertiseUrl !== undefined) return [new URL(advertiseUrl).hostname];
  if (WILDCARDS.has(host)) return [];
  return [host.includes(':') && !host.startsWith('[') ? `[${host}]` : host];
}

const WILDCARDS: ReadonlySet<string> = new Set(['', '0.0.0.0', '::', '[::]']);
