import type { ResolvedModel } from '../../../contract/model.ts';
import type { Catalogue } from '../../../environment/client/catalogue.ts';
import type { EvaluationStore } from '../../../evaluation/evaluations/evaluation-store.ts';
import type { Tasksets } from '../../../evaluation/tasks/find-tasksets.ts';
import type { Models } from '../../../models/gateway/create-model.ts';
import type { Agents } from '../../../rollout/agents/agents.ts';
import type { Accounts } from '../../../store/accounts/accounts.ts';
import type { Database } from '../../../store/database/database.ts';
import type { RegisteredModels } from '../../../store/models/registered-models.ts';
import type { RunQueue } from '../../../store/queue/run-queue.ts';
import type { TraceStore } from '../../../store/traces/trace-store.ts';
import type { Route } from '../../../support/http/api/route.ts';
import type { RouteGroup } from '../../../support/http/api/route-table.ts';
import type { WorkStreams } from '../../../support/http/work-streams.ts';
import type { Secret } from '../../../support/redaction/redactor.ts';
import type { Training } from '../../../training/training.ts';
import type { EventsRouteOptions } from '../../traces/events-route.ts';
import type { LiveDeltas } from '../../traces/live-deltas.ts';
import type { NewRuns } from '../new-runs.ts';

export interface ServiceRoutesOptions {
  readonly catalogue: Catalogue;
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly models: Models;
  readonly agents: Agents | undefined;
  readonly logger: EventsRouteOptions['logger'];
  /** Accounts, to end a stream of events when the key of its reader is revoked. */
  readonly accounts: Accounts;
  readonly appUrl: string;
  /** Project directory; `tasksets` in it holds tasksets. */
  readonly directory: string;
  /** Aborted when the service shuts down. */
  readonly closing: AbortSignal;
  readonly keepAliveMs?: number | undefined;
  /** Replies of requests whose work takes minutes, created on first use. */
  works(): Promise<WorkStreams>;
  /** Keys of gateways, trainers and the service, which no process of an environment may hold. */
  readonly operatorKeys: readonly Secret[];
  /** Names of environments in commands, where these differ. */
  readonly typedNames: ReadonlyMap<string, string>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly deltas: LiveDeltas;
  /** True lets a caller name any program of this machine as its agent. */
  readonly allowsCommands: boolean;
  /** Cancels a run that this process plays. */
  cancelHere(traceId: string): void;
  /** Called after a change of an evaluation or regrade, to wake the worker. */
  onChange(): void;
  /** Training, created on first use. */
  training(): Promise<Training>;
  /** Creates runs; itself created on first use. */
  runs(): Promise<NewRuns>;
  /** Routes of the seats, created on first use. */
  seatRoutes(): Promise<readonly Route[]>;
}

/**
 * All routes of the run service (contract section 3). The code of a group is loaded by the first request to one of
 * its paths.
 */
export function createServiceRoutes(options: ServiceRoutesOptions): readonly RouteGroup[] {
  return [...runGroups(options), ...readGroups(options), ...jobGroups(options)];
}

const access = 'key-or-browser';

/** Routes that create, repeat and cancel runs and seats. */
function runGroups(options: ServiceRoutesOptions): readonly RouteGroup[] {
  const { catalogue, database, store, queue, models, agents, appUrl, closing, now } = options;
  const { logger, cancelHere, allowsCommands } = options;
  const toTraceUrl = (id: string) => `${appUrl}/traces/${id}`;
  return [
    {
      paths: ['/v1/agent/run'],
      async load() {
        const { createRunRoute } = await import('./run-route.ts');
        const runs = await options.runs();
        const known = { catalogue, models, agents, database, store, closing, now, toTraceUrl };
        return [createRunRoute({ ...known, runs, allowsCommands })];
      },
    },
    {
      paths: ['/v1/agent/seats', '/v1/agent/seats/:trace_id', '/v1/agent/seats/:trace_id/answer'],
      load: () => options.seatRoutes(),
    },
    {
      paths: ['/v1/traces/:trace_id/cancel'],
      async load() {
        const { createCancelRoute } = await import('./cancel-route.ts');
        return [createCancelRoute({ store, queue, logger, cancelHere })];
      },
    },
    {
      paths: ['/v1/traces/:trace_id/replay'],
      async load() {
        const { createReplayRoute } = await import('./replay-route.ts');
        return [createReplayRoute({ catalogue, store, runs: await options.runs(), toTraceUrl })];
      },
    },
  ];
}

/** Routes that read traces, and the catalogue of environments and models. */
function readGroups(options: ServiceRoutesOptions): readonly RouteGroup[] {
  const { catalogue, store, models, accounts, deltas, logger, closing, keepAliveMs } = options;
  return [
    {
      paths: ['/v1/traces', '/v1/traces/summary', '/v1/traces/:trace_id'],
      async load() {
        const { createTracesRoutes } = await import('../../traces/traces-route.ts');
        return createTracesRoutes({ store, access, closing });
      },
    },
    {
      paths: ['/v1/imports'],
      async load() {
        const { createImportsRoute } = await import('./imports-route.ts');
        return [createImportsRoute({ database: options.database, store, works: await options.works() })];
      },
    },
    {
      paths: ['/v1/traces/:trace_id/events'],
      async load() {
        const { createEventsRoute } = await import('../../traces/events-route.ts');
        return [createEventsRoute({ store, accounts, access, deltas, logger, closing, keepAliveMs })];
      },
    },
    {
      paths: ['/v1/blobs/:sha256'],
      async load() {
        const { createBlobRoute } = await import('../../traces/blob-route.ts');
        return [createBlobRoute({ store, access })];
      },
    },
    {
      paths: ['/v1/usage'],
      async load() {
        const { createUsageRoute } = await import('./usage-route.ts');
        return [createUsageRoute(store)];
      },
    },
    {
      paths: ['/v1/environments', '/v1/environments/:name/scenarios', '/v1/environments/:name/tools', '/v1/models'],
      async load() {
        const { createCatalogueRoutes } = await import('./catalogue-routes.ts');
        return createCatalogueRoutes(catalogue, models, await registeredModels(options));
      },
    },
    {
      paths: ['/v1/models/registered', '/v1/models/registered/:name'],
      async load() {
        const { createRegisteredModelsRoutes } = await import('./registered-models-routes.ts');
        return createRegisteredModelsRoutes(await registeredModels(options));
      },
    },
    {
      paths: ['/v1/tasksets'],
      async load() {
        const { createTasksetsRoute } = await import('./tasksets-route.ts');
        return [createTasksetsRoute(await tasksetsOf(options), closing)];
      },
    },
  ];
}

/** Routes of long-running jobs: evaluations, regrades and training; also reports of checks. */
function jobGroups(options: ServiceRoutesOptions): readonly RouteGroup[] {
  const { catalogue, database, store, queue, models, agents, appUrl, closing, now } = options;
  const { logger, accounts, keepAliveMs, cancelHere, onChange, allowsCommands } = options;
  return [
    {
      paths: [
        '/v1/traces/:trace_id/regrade',
        '/v1/evaluations/:evaluation_id/regrade',
        '/v1/evaluations/:evaluation_id/regrades',
        '/v1/regrades/:job_id',
        '/v1/regrades/:job_id/cancel',
      ],
      async load() {
        const { createRegradeRoutes } = await import('./regrade-routes.ts');
        return createRegradeRoutes({
          catalogue,
          database,
          store,
          queue,
          cancelHere,
          appUrl,
          now,
          onCreated: onChange,
        });
      },
    },
    {
      paths: ['/v1/checks', '/v1/checks/:check_id'],
      async load() {
        const { createCheckRoutes } = await import('./check-routes.ts');
        const { createCreateCheckRoute } = await import('./create-check-route.ts');
        return [
          createCreateCheckRoute({ ...options, works: await options.works() }),
          ...createCheckRoutes({ database, appUrl }),
        ];
      },
    },
    {
      paths: ['/v1/calibrations'],
      async load() {
        const { createCalibrationsRoute } = await import('./calibrations-route.ts');
        return [createCalibrationsRoute({ models, works: await options.works() })];
      },
    },
    {
      paths: EVALUATION_PATHS,
      async load() {
        const { createEvaluationRoutes } = await import('./evaluation-routes.ts');
        const { createCreateEvaluationRoute } = await import('./create-evaluation-route.ts');
        const store = await evaluationsOf(options);
        const known = { catalogue, models, agents, database, now, allowsCommands };
        const create = createCreateEvaluationRoute({
          ...known,
          tasksets: await tasksetsOf(options),
          evaluations: store,
        });
        return [create, ...createEvaluationRoutes({ evaluations: store, closing, logger })];
      },
    },
    {
      paths: ['/v1/datasets'],
      async load() {
        const { createDatasetsRoute } = await import('./datasets-route.ts');
        const [{ datasets }, tasksets] = await Promise.all([options.training(), tasksetsOf(options)]);
        return [createDatasetsRoute({ datasets, catalogue, tasksets, works: await options.works() })];
      },
    },
    {
      paths: TRAINING_PATHS,
      async load() {
        const { createTrainingRoutes } = await import('./training-routes.ts');
        const [training, found] = await Promise.all([options.training(), tasksetsOf(options)]);
        return createTrainingRoutes({
          training,
          catalogue,
          tasksets: found,
          database,
          accounts,
          logger,
          now,
          closing,
          keepAliveMs,
        });
      },
    },
  ];
}

async function registeredModels({ database, now }: ServiceRoutesOptions): Promise<RegisteredModels> {
  const registered = await import('../../../store/models/registered-models.ts');
  return new registered.RegisteredModels(database, { now });
}

async function tasksetsOf({ directory, catalogue }: ServiceRoutesOptions): Promise<Tasksets> {
  const { createTasksets } = await import('../../../evaluation/tasks/find-tasksets.ts');
  return createTasksets({ directory, declared: catalogue });
}

async function evaluationsOf(options: ServiceRoutesOptions): Promise<EvaluationStore> {
  const { database, store, queue, models, appUrl, now, cancelHere, onChange } = options;
  const { createEvaluationStore } = await import('../../../evaluation/evaluations/database-evaluation-store.ts');
  const canPrice = (model: ResolvedModel) => models.canPrice(model);
  return createEvaluationStore({ database, store, queue, appUrl, canPrice, now, cancelHere, onChange });
}

const EVALUATION_PATHS = [
  '/v1/evaluations',
  '/v1/evaluations/compare',
  '/v1/evaluations/:evaluation_id',
  '/v1/evaluations/:evaluation_id/attempts',
  '/v1/evaluations/:evaluation_id/tasks',
  '/v1/evaluations/:evaluation_id/pause',
  '/v1/evaluations/:evaluation_id/resume',
  '/v1/evaluations/:evaluation_id/cancel',
  '/v1/evaluations/:evaluation_id/rerun',
];

const TRAINING_PATHS = [
  '/v1/training/providers',
  '/v1/training/jobs',
  '/v1/training/jobs/:job_id',
  '/v1/training/jobs/:job_id/cancel',
  '/v1/training/jobs/:job_id/events',
];
