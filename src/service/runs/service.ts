import type { Logger } from 'pino';
import { createServiceClient, type ServiceClient } from '../../client/service-client.ts';
import { type Catalogue, createCatalogue } from '../../environment/client/catalogue.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import type { EnvironmentPool } from '../../environment/client/pool/environment-pool.ts';
import type { Models } from '../../models/gateway/create-model.ts';
import type { Agents } from '../../rollout/agents/agents.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import type { Database } from '../../store/database/database.ts';
import type { RunQueue } from '../../store/queue/run-queue.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';
import { LOCAL_CALLER } from '../../support/http/api/api-keys.ts';
import { createInProcessFetch } from '../../support/http/api/in-process-fetch.ts';
import { RouteTable } from '../../support/http/api/route-table.ts';
import type { Secret } from '../../support/redaction/redactor.ts';
import { endsWithin } from '../../support/runtime/deadline.ts';
import { once } from '../../support/runtime/once.ts';
import type { Training } from '../../training/training.ts';
import { LiveDeltas } from '../traces/live-deltas.ts';
import { NewRuns } from './new-runs.ts';
import { QueuedQuota } from './routes/queued-quota.ts';
import { createServiceRoutes } from './routes/service-routes.ts';
import type { SeatService, SeatSettings } from './seat-service.ts';
import type { Player } from './worker/player.ts';
import type { Worker, WorkerOptions, WorkerSettings } from './worker/worker.ts';

export interface ServiceOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  /** Searches environments and agents again and updates the maps. Default: they never change. */
  readonly lookAgain?: (() => Promise<string | undefined>) | undefined;
  /** Project directory; `tasksets` in it holds tasksets. Default: the working directory. */
  readonly directory?: string | undefined;
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly accounts: Accounts;
  readonly models: Models;
  /** External agent programs. Default: none. */
  readonly agents?: Agents | undefined;
  /** Processes of environments. */
  readonly pool: EnvironmentPool;
  /** True: the pool closes with the service. Default: its creator closes it after the service. */
  readonly closesPool?: boolean;
  /** Address of the trace pages, without a slash at the end. */
  readonly appUrl: string;
  readonly logger: Logger;
  /** True: this process plays the runs that it creates, and workers leave them alone while it lives. Default false. */
  readonly playsOwnRuns?: boolean;
  /** Called when another worker has taken over a run that was played here. */
  readonly onTakenOver?: ((traceId: string) => void) | undefined;
  /** Account of the service's own client. Default `local`. */
  readonly account?: string | undefined;
  /** True lets a caller name any program of this machine as its agent (`acp:<command>`). Default false. */
  readonly allowsCommands?: boolean;
  /**
   * Keys of gateways, trainers and the service. A check looks for them in the processes of environments. Default: no
   * known keys.
   */
  readonly operatorKeys?: readonly Secret[] | undefined;
  /** Names of environments in commands that a check reports. Default: the names of `environments`. */
  readonly typedNames?: ReadonlyMap<string, string> | undefined;
  /** For tests: milliseconds between the comments of a stream. Default 10,000. */
  readonly keepAliveMs?: number | undefined;
  readonly seats?: SeatSettings | undefined;
  /** Jobs and trainers, created on first use. Default: training on this database with `proctor/imitation` only. */
  readonly training?: (() => Promise<Training>) | undefined;
  /** Clock in milliseconds since 1970, for stored times. */
  readonly now?: (() => number) | undefined;
}

export type ServiceWorkerSettings = Omit<WorkerSettings, 'pool'> & Pick<WorkerOptions, 'address'>;

/** A run service in this process. It has no address: its own client calls the routes, and a server may serve them. */
export interface Service {
  /** Client of the routes without a socket, for one account. */
  readonly client: ServiceClient;
  readonly routes: RouteTable;
  readonly catalogue: Catalogue;
  /** Aborted when the service shuts down. */
  readonly closing: AbortSignal;
  /** The worker, if one was started. */
  readonly worker: Worker | undefined;
  seats(): Promise<SeatService>;
  /** Sessions that end from now on run their shutdown hooks. Called before the process ends, for any reason. */
  shutDown(): void;
  /** Starts a worker for queued runs, evaluations, regrades and training jobs. Other processes may have workers too. */
  startWorker(settings: ServiceWorkerSettings): Promise<Worker>;
  /**
   * Refuses new work, gives back the runs that are played here, and ends the seats. The caller closes database, store
   * and queue afterwards. Never rejects.
   */
  close(graceMs: number): Promise<void>;
}

/** Share of the shutdown budget in which evaluations of seats may end by themselves. */
const PATIENT_SHARE = 0.45;

/** Creates the run service of an installation (contract section 3). The caller closes it. */
export function createService(options: ServiceOptions): Service {
  const { environments, database, store, queue, accounts, models, agents, pool, appUrl, logger } = options;
  const { now = Date.now, directory = process.cwd(), keepAliveMs } = options;
  const closing = new AbortController();
  const catalogue = createCatalogue(environments, {
    connect: (target, how) => pool.read(target, how),
    lookAgain: options.lookAgain,
  });
  const deltas = new LiveDeltas();
  const onDelta: WorkerOptions['onDelta'] = (traceId, attempt, delta) => deltas.publish(traceId, { attempt, ...delta });
  let worker: Worker | undefined;
  const { player, runs, seats, training, works } = createParts(options, {
    catalogue,
    onDelta,
    closing: closing.signal,
  });
  const routes = new RouteTable(
    createServiceRoutes({
      catalogue,
      database,
      store,
      queue,
      models,
      agents,
      logger,
      accounts,
      appUrl,
      directory,
      keepAliveMs,
      now,
      deltas,
      works: works.get,
      operatorKeys: options.operatorKeys ?? [],
      typedNames: options.typedNames ?? new Map(),
      closing: closing.signal,
      allowsCommands: options.allowsCommands ?? false,
      training: training.get,
      runs,
      seatRoutes: async () => (await seats.get()).routes,
      cancelHere(traceId) {
        worker?.cancel(traceId);
        player.value?.cancel(traceId);
        seats.value?.seats.cancel(traceId);
      },
      onChange: () => worker?.driver?.wake(),
    }),
  );
  const { client, changing } = createOwnClient(routes, closing.signal, options);
  return {
    client,
    routes,
    catalogue,
    closing: closing.signal,
    get worker() {
      return worker;
    },
    seats: seats.get,
    shutDown: () => pool.shutDown(),
    async startWorker(settings) {
      const { startWorker } = await import('./worker/worker.ts');
      const { lookAgain } = options;
      const parts = { environments, lookAgain, database, store, queue, models, agents, logger, pool, onDelta };
      worker = startWorker({ ...settings, ...parts, training: training.get });
      return worker;
    },
    async close(graceMs) {
      const endsAt = performance.now() + graceMs;
      const remainingMs = () => Math.max(0, endsAt - performance.now());
      closing.abort(new Error('The service is shutting down'));
      if (options.closesPool === true) pool.shutDown();
      // A run that is being created is given back below.
      await endsWithin(Promise.all(changing), remainingMs() / 2);
      // Both at once: killing environments takes half of the budget each time.
      await Promise.all([
        worker?.stop(remainingMs()),
        works.made().then((made) => made && endsWithin(made.ended(), remainingMs())),
        player.made().then((made) => made?.stop(remainingMs())),
        catalogue.close(),
        // In this order, since seats use the processes of the pool.
        seats
          .made()
          .then((made) => made?.close(remainingMs() * PATIENT_SHARE))
          .then(async () => {
            if (options.closesPool === true) await endsWithin(pool.close(), remainingMs());
          }),
      ]);
    },
  };
}

/** Creates the service's own client, and tracks its running requests that change something. */
function createOwnClient(
  routes: RouteTable,
  closing: AbortSignal,
  { account = LOCAL_CALLER.account, logger }: ServiceOptions,
) {
  const changing = new Set<Promise<unknown>>();
  const track = (answering: Promise<unknown>) => {
    const kept = answering.catch(() => {}).finally(() => changing.delete(kept));
    changing.add(kept);
  };
  const client = createServiceClient({
    baseUrl: 'http://in.process',
    fetch: createInProcessFetch({ table: routes, caller: { ...LOCAL_CALLER, account }, logger, closing, track }),
    // No retries: no request is lost inside of one process.
    maxRetries: 0,
    closed: closing,
  });
  return { client, changing };
}

interface PartsOptions {
  readonly catalogue: Catalogue;
  readonly onDelta: WorkerOptions['onDelta'];
  readonly closing: AbortSignal;
}

/** Creates the rarely used parts of a service on first use. */
function createParts(options: ServiceOptions, { catalogue, onDelta, closing }: PartsOptions) {
  const { environments, database, store, queue, models, agents, pool, appUrl, logger } = options;
  const { now = Date.now, directory = process.cwd() } = options;
  const player = once<Player | undefined>(async () => {
    if (options.playsOwnRuns !== true) return undefined;
    const { createPlayer } = await import('./worker/player.ts');
    const { onTakenOver } = options;
    return createPlayer({ environments, store, queue, models, agents, pool, logger, onDelta, onTakenOver });
  });
  const seats = once(async () => {
    const { createSeatService } = await import('./seat-service.ts');
    return createSeatService({
      environments,
      database,
      store,
      catalogue,
      models,
      logger,
      appUrl,
      now,
      pool,
      seats: options.seats,
    });
  });
  const training = once(async () => {
    if (options.training !== undefined) return await options.training();
    const { createDefaultTraining } = await import('./default-training.ts');
    return createDefaultTraining({ directory, database, store, queue, models, appUrl, catalogue, now });
  });
  const runs = async () =>
    new NewRuns({ store, queue, quota: new QueuedQuota(database), player: await player.get(), closing });
  const works = once(async () => {
    const { WorkStreams } = await import('../../support/http/work-streams.ts');
    return new WorkStreams({ logger, closing, keepAliveMs: options.keepAliveMs });
  });
  return { player, runs, seats, training, works };
}
