import type { Logger } from 'pino';
import type { Accounts } from '../accounts/accounts.ts';
import { guardedBy } from '../accounts/guard.ts';
import type { Agents } from '../agents/agents.ts';
import { type Catalogue, catalogueCheck, createCatalogue } from '../client/catalogue.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import { addPoolMetrics } from '../client/pool-metrics.ts';
import { preloadSessions } from '../client/preload-sessions.ts';
import type { ResolvedModel } from '../contract/model.ts';
import { SHUTDOWN_GRACE_MS } from '../contract/names.ts';
import { type Database, storeCheck } from '../database/database.ts';
import { createEvaluationStore } from '../evaluations/database-evaluation-store.ts';
import { createHttpApp } from '../http/app.ts';
import { createHealthRoutes } from '../http/health-routes.ts';
import { listen } from '../http/listen.ts';
import { createHttpMetrics, type HttpMetrics } from '../http/metrics.ts';
import { assertBindAllowed } from '../http/origin-guard.ts';
import type { Route } from '../http/route.ts';
import type { Models } from '../model/create-model.ts';
import { RegisteredModels } from '../model/registered-models.ts';
import { queueCheck, type RunQueue } from '../queue/run-queue.ts';
import { endsWithin } from '../runtime/deadline.ts';
import { PROCTOR_VERSION } from '../runtime/version.ts';
import { createTasksets } from '../tasks/find-tasksets.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { createBlobRoute } from '../trace-routes/blob-route.ts';
import { createEventsRoute } from '../trace-routes/events-route.ts';
import { LiveDeltas } from '../trace-routes/live-deltas.ts';
import { createTracesRoutes } from '../trace-routes/traces-route.ts';
import type { Training } from '../training/training.ts';
import { createCancelRoute } from './cancel-route.ts';
import { createCatalogueRoutes } from './catalogue-routes.ts';
import { createCheckRoutes } from './check-routes.ts';
import { createCreateEvaluationRoute } from './create-evaluation-route.ts';
import { createDefaultTraining } from './default-training.ts';
import { createEvaluationRoutes } from './evaluation-routes.ts';
import { addRunMetrics } from './metrics.ts';
import { QueuedQuota } from './queued-quota.ts';
import { createRegisteredModelsRoutes } from './registered-models-routes.ts';
import { createRegradeRoutes } from './regrade-routes.ts';
import { createReplayRoute } from './replay-route.ts';
import { createRunRoute } from './run-route.ts';
import { createSeatDesk, type SeatDesk, type SeatSettings } from './seat-desk.ts';
import { enqueueForgottenRuns } from './sweep.ts';
import { createTasksetsRoute } from './tasksets-route.ts';
import { createTrainingRoutes } from './training-routes.ts';
import { createUsageRoute } from './usage-route.ts';
import { createWorkerPool, startWorker, type Worker, type WorkerOptions, type WorkerSettings } from './worker.ts';

export interface RunServiceOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  /** Its folder `tasksets` holds tasksets. Default: that of the process. */
  readonly directory?: string;
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly accounts: Accounts;
  readonly models: Models;
  /** Programs that play scenarios by a loop of their own. Default: none. */
  readonly agents?: Agents;
  /** Routes beside those of the service, such as the trace pages. */
  readonly pages?: readonly Route[];
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Where the trace pages are, without a slash at the end. */
  readonly appUrl: string;
  /** Where other processes of the same database reach this one, without a slash at the end. Default: the bound address. */
  readonly advertiseUrl?: string | undefined;
  /** Names beside the loopback ones that Host and Origin may have. */
  readonly allowedHosts?: readonly string[];
  readonly logger: Logger;
  /** False: this process accepts runs and executes none. */
  readonly worker?: WorkerSettings | false;
  /** Milliseconds that `close` may take in all. Default 10,000. */
  readonly shutdownGraceMs?: number;
  /** For tests: milliseconds between the comments of a stream. Default 10,000. */
  readonly keepAliveMs?: number;
  readonly seats?: SeatSettings;
  /** Its jobs and trainers. Default: that of the database, with `proctor/imitation` alone. */
  readonly training?: Training;
  /** Milliseconds since 1970, for what is kept by time. */
  readonly now?: () => number;
}

export interface RunService {
  /** Without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /**
   * Takes no new work (503 `shutting_down`), gives the runs that are executed here back to the queue, and lets requests
   * finish, within the budget. Database, store and queue are closed by whoever opened them. Never rejects.
   */
  close(): Promise<void>;
}

/**
 * Starts the run service (contract section 3): its HTTP surface and, unless told otherwise, a worker in this process.
 *
 * @throws Error that says what to do: for a port in use, an address of another machine, and for a bind elsewhere than
 *   loopback while there is no API key.
 */
export async function startRunService(options: RunServiceOptions): Promise<RunService> {
  const { host, port, accounts, logger } = options;
  // The key `local` is made by a first start, so it does not show that someone wants others to connect.
  const hasKey = await accounts.hasKeys({ except: ['local'] });
  assertBindAllowed(host, hasKey, 'make one with "proctor keys create --name <name>"');

  preloadSessions();
  const { pool: shared, ...workerSettings } = options.worker || {};
  const pool = shared ?? createWorkerPool({ ...workerSettings, logger });
  const catalogue = createCatalogue(options.environments, { connect: (target, how) => pool.read(target, how) });
  const closing = new AbortController();
  const seats = createSeatDesk({
    ...options,
    catalogue,
    now: options.now ?? Date.now,
    pool,
  });
  const parts: Parts = {
    catalogue,
    seats,
    closing: closing.signal,
    deltas: new LiveDeltas(),
    metrics: createHttpMetrics(),
    worker: undefined,
    training: options.training ?? createDefaultTraining({ ...options, catalogue }),
  };
  const listener = await listen(createApp(options, parts), { host, port }).catch(async (error: unknown) => {
    await Promise.all([catalogue.close(), seats.close(0), shared === undefined && pool.close()]);
    throw error;
  });
  seats.seats.advertise(options.advertiseUrl ?? listener.url);
  const orphans = await seats.seats.endOrphans();
  if (orphans > 0) logger.warn({ seats: orphans }, 'Seats of a service that is gone were ended as failed');
  const forgotten = await enqueueForgottenRuns(options.database, options.queue);
  if (forgotten > 0) logger.warn({ runs: forgotten }, 'Accepted runs without an entry in the queue were enqueued');
  if (options.worker !== false) {
    const onDelta: WorkerOptions['onDelta'] = (traceId, attempt, delta) => {
      parts.deltas.publish(traceId, { attempt, ...delta });
    };
    parts.worker = startWorker({ ...options, ...options.worker, pool, onDelta, training: parts.training });
  }
  const stopMetrics = addRunMetrics(parts.metrics.registry, {
    store: options.store,
    queue: options.queue,
    activeRuns: () => parts.worker?.active ?? 0,
  });

  const stopPoolMetrics =
    parts.worker && addPoolMetrics(parts.metrics.registry, parts.worker.pool, options.environments);

  let closed: Promise<void> | undefined;
  const close = async () => {
    const graceMs = options.shutdownGraceMs ?? SHUTDOWN_GRACE_MS.service;
    const endsAt = performance.now() + graceMs * CLOSING_SHARE;
    const remainingMs = () => Math.max(0, endsAt - performance.now());
    closing.abort(new Error('The service is shutting down'));
    // At once: environments that have to be killed take half of the budget each time.
    await Promise.all([
      parts.worker?.stop(remainingMs()),
      catalogue.close(),
      // In their order: its processes are those of the seats.
      seats.close(remainingMs() * PATIENT_SHARE).then(async () => {
        if (shared === undefined) await endsWithin(pool.close(), remainingMs());
      }),
    ]);
    await listener.close(remainingMs());
    stopMetrics();
    stopPoolMetrics?.();
  };
  return {
    url: listener.url,
    port: listener.port,
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** Share of the budget; the rest is for the database and the end of the process. */
const CLOSING_SHARE = 0.95;
/** Share of that for the evaluations of seats to end by themselves. */
const PATIENT_SHARE = 0.45;

interface Parts {
  readonly catalogue: Catalogue;
  readonly seats: SeatDesk;
  readonly closing: AbortSignal;
  readonly deltas: LiveDeltas;
  readonly metrics: HttpMetrics;
  worker: Worker | undefined;
  readonly training: Training;
}

function createApp(options: RunServiceOptions, parts: Parts) {
  const { store, queue, models, agents, accounts, database, logger, appUrl, keepAliveMs, now = Date.now } = options;
  const { catalogue, seats, closing, deltas, metrics, training } = parts;
  const tasksets = createTasksets({ directory: options.directory ?? process.cwd(), declared: catalogue });
  const registered = new RegisteredModels(database, { now });
  const cancelHere = (traceId: string) => cancelIn(parts, traceId);
  const onChange = () => parts.worker?.driver?.wake();
  const canPrice = (model: ResolvedModel) => models.canPrice(model);
  const evaluations = createEvaluationStore({ database, store, queue, appUrl, canPrice, now, cancelHere, onChange });
  const toTraceUrl = (id: string) => `${appUrl}/traces/${id}`;
  const quota = new QueuedQuota(database);
  return createHttpApp({
    title: 'Proctor run service',
    version: PROCTOR_VERSION,
    host: options.host,
    allowedHosts: [...(options.allowedHosts ?? []), ...ownHosts(options)],
    logger,
    ...guardedBy(accounts),
    closing,
    observe: metrics.observe,
    mounts: [...seats.mounts],
    routes: [
      createRunRoute({
        catalogue,
        models,
        agents,
        database,
        store,
        queue,
        quota,
        closing,
        now,
        toTraceUrl,
      }),
      createReplayRoute({ catalogue, store, queue, quota, toTraceUrl }),
      ...createRegradeRoutes({ catalogue, database, store, queue, cancelHere, appUrl, now, onCreated: onChange }),
      ...createCheckRoutes({ database, appUrl }),
      ...createTracesRoutes({ store, access: 'key-or-browser', closing }),
      ...seats.routes,
      createCancelRoute({ store, queue, logger, cancelHere }),
      createEventsRoute({ store, accounts, access: 'key-or-browser', deltas, logger, closing, keepAliveMs }),
      createBlobRoute({ store, access: 'key-or-browser' }),
      createUsageRoute(store),
      ...createCatalogueRoutes(catalogue, models, registered),
      ...createRegisteredModelsRoutes(registered),
      createTasksetsRoute(tasksets, closing),
      createCreateEvaluationRoute({ catalogue, tasksets, models, agents, database, evaluations, now }),
      ...createEvaluationRoutes({ evaluations, closing }),
      ...createTrainingRoutes({
        ...{ training, catalogue, tasksets, database, accounts, logger, now, closing, keepAliveMs },
      }),
      ...createHealthRoutes({
        checks: [storeCheck(database), queueCheck(queue), catalogueCheck(catalogue, logger)],
        closing,
      }),
      metrics.route,
      ...(options.pages ?? []),
    ],
  });
}

/** Other processes come by the advertised address, whatever names clients use. */
function ownHosts({ advertiseUrl, host }: RunServiceOptions): readonly string[] {
  if (advertiseUrl !== undefined) return [new URL(advertiseUrl).hostname];
  if (WILDCARDS.has(host)) return [];
  return [host.includes(':') && !host.startsWith('[') ? `[${host}]` : host];
}

const WILDCARDS: ReadonlySet<string> = new Set(['', '0.0.0.0', '::', '[::]']);

function cancelIn({ worker, seats }: Parts, traceId: string): void {
  worker?.cancel(traceId);
  seats.seats.cancel(traceId);
}
