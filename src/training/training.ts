import { join } from 'node:path';
import type { Logger } from 'pino';
import { ApiError } from '../contract/errors.ts';
import type { TrainerList, TrainingAccepted, TrainingRequest } from '../contract/service/training.ts';
import type { Task } from '../contract/task.ts';
import type { EvaluationStore } from '../evaluation/evaluations/evaluation-store.ts';
import type { Tasksets } from '../evaluation/tasks/find-tasksets.ts';
import type { Taskset } from '../evaluation/tasks/taskset.ts';
import type { Models } from '../models/gateway/create-model.ts';
import type { ConfiguredGateway } from '../models/gateway/model-config.ts';
import type { Database, DatabaseTransaction } from '../store/database/database.ts';
import type { RegisteredModels } from '../store/models/registered-models.ts';
import { asField } from '../support/http/api/errors.ts';
import { preview } from '../support/schema/json-schema.ts';
import { didYouMean } from '../support/text/did-you-mean.ts';
import type { DatasetParts } from './dataset/build-dataset.ts';
import { buildDataset, planDataset } from './dataset/build-dataset.ts';
import { createImitationProvider } from './imitation/imitation-provider.ts';
import { type JobDriver, startJobDriver } from './jobs/job-driver.ts';
import { createTrainingJobStore, type TrainingJobStore } from './jobs/job-store.ts';
import type { StepParts, TrainedModel } from './jobs/step-parts.ts';
import { NO_SCENARIO, tryModel } from './jobs/try-model.ts';
import { createProviders } from './providers/create-providers.ts';
import type { TrainingProvider, TrainingProviders } from './providers/provider.ts';
import type { TrainerConfig } from './trainer-config.ts';

export interface TrainingOptions {
  readonly database: Database;
  readonly datasets: DatasetParts;
  readonly evaluations: EvaluationStore;
  readonly models: Models;
  readonly registered: RegisteredModels;
  readonly trainers: Readonly<Record<string, TrainerConfig>>;
  readonly gateways: readonly ConfiguredGateway[];
  /** The working directory. Datasets and outputs of jobs are in its folder `.proctor/training`. */
  readonly directory: string;
  /** Address of the pages, without a trailing slash. */
  readonly appUrl: string;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  readonly deployTimeoutMs?: number | undefined;
}

/** Training on a database: its jobs, its trainers and its drivers. */
export interface Training {
  readonly jobs: TrainingJobStore;
  readonly trainers: TrainerList;
  /** The parts that build datasets. */
  readonly datasets: DatasetParts;
  /**
   * Checks a request and creates its job.
   *
   * @throws ApiError provider_not_found, invalid_parameter, taskset_not_found, evaluation_not_found, model_not_found,
   * held_out_task, name_taken. No job is created then.
   */
  begin(beginning: TrainingBeginning): Promise<TrainingAccepted>;
  /** Starts a driver for the jobs of the database. The caller stops it. */
  drive(logger: Pick<Logger, 'error' | 'warn'>): JobDriver;
}

export interface TrainingBeginning {
  readonly account: string;
  readonly keyId: string | null;
  readonly request: TrainingRequest;
  readonly tasksets: Pick<Tasksets, 'load'>;
  /** Refuses tasks that their environments would refuse. */
  readonly checkTasks: (taskset: Taskset, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  /** Writes that belong to the same commit. */
  readonly inTransaction?: (transaction: DatabaseTransaction, accepted: TrainingAccepted) => Promise<void>;
}

/** @throws Error that names a trainer with contradictory settings. The result needs no `close`, only its drivers do. */
export function createTraining(options: TrainingOptions): Training {
  const { database, registered, appUrl, now, models, evaluations } = options;
  const providers = createProviders(options, [createImitationProvider(database)]);
  const drivers = new Set<JobDriver>();
  const jobs = createTrainingJobStore({
    database,
    appUrl,
    now,
    isNameTaken: (...name) => registered.hasIn(...name),
    onChange: () => {
      for (const driver of drivers) driver.wake();
    },
  });
  const parts: Omit<StepParts, 'logger' | 'now'> = {
    database,
    providers,
    evaluations,
    deployTimeoutMs: options.deployTimeoutMs,
    directory: join(options.directory, '.proctor', 'training'),
    buildDataset: ({ account, request: { from, select } }, heldOut, folder, { signal, format }) =>
      buildDataset(options.datasets, { account, from, select, format, heldOut }, folder, { signal }),
    tryModel: (target, gateway, signal) => tryModel(models.create({ target, gateway }, NO_SCENARIO), signal),
    register: (transaction, model) => register(registered, transaction, model),
  };
  return {
    jobs,
    datasets: options.datasets,
    trainers: {
      object: 'list',
      data: providers.all.map(({ name, kind, methods, minimumLines }) => ({
        name,
        kind,
        methods: [...methods],
        minimum_lines: minimumLines,
      })),
    },
    begin: (beginning) => begin(options, { providers, jobs }, beginning),
    drive(logger) {
      const driver = startJobDriver({ ...parts, logger, now });
      drivers.add(driver);
      return {
        wake: () => driver.wake(),
        async stop() {
          drivers.delete(driver);
          await driver.stop();
        },
      };
    },
  };
}

interface Beginnings {
  readonly providers: TrainingProviders;
  readonly jobs: TrainingJobStore;
}

async function begin(
  { datasets, models, registered }: TrainingOptions,
  { providers, jobs }: Beginnings,
  { account, keyId, request, tasksets, checkTasks, signal, inTransaction }: TrainingBeginning,
): Promise<TrainingAccepted> {
  const provider = findProvider(providers, request);
  const { evaluate } = request;
  // The gateways may not know a base model that only the provider uses for training.
  const isAsked = evaluate !== null || provider.kind === 'imitation';
  const base = isAsked
    ? await registered.check(models, account, request.base, 'base')
    : await registered.resolve(account, request.base, 'base');
  const heldOut = await asField('held_out', () => loadAll(request.held_out, tasksets, signal));
  const names = evaluate === null ? [] : [evaluate.tasks ?? request.held_out].flat();
  const format = provider.format(request.method);
  const planned = { account, from: request.from, select: request.select, format };
  if (evaluate !== null && names.length === 0) {
    throw await withoutTasks(() => planDataset(datasets, { ...planned, heldOut: [] }, { signal }));
  }
  const field = evaluate?.tasks === undefined ? 'held_out' : 'evaluate.tasks';
  const proof = await asField(field, async () => {
    const loaded = await loadAll(names, tasksets, signal);
    for (const taskset of loaded) await checkTasks(taskset, signal);
    return loaded;
  });
  const tasks = joinTasks(proof);
  const named = [...heldOut, ...proof].map((taskset) => ({ name: taskset.name ?? '', tasks: taskset.tasks }));
  await planDataset(datasets, { ...planned, heldOut: named }, { signal });
  return await jobs.create({
    account,
    keyId,
    request: {
      ...request,
      base_model: { target: base.target, gateway: base.gateway },
      evaluate: evaluate && { ...evaluate, tasks: names },
    },
    tasks: { heldOut: named, proof: tasks },
    ...(inTransaction && { inTransaction }),
  });
}

/** @throws ApiError provider_not_found, invalid_parameter for an unknown trainer or method. */
function findProvider(providers: TrainingProviders, { provider: name, method }: TrainingRequest): TrainingProvider {
  const provider = providers.find(name);
  const names = providers.all.map((each) => each.name);
  if (provider === undefined) {
    const message = `There is no trainer ${preview(name)}: this service has ${names.join(', ')}.${didYouMean(name, names)} "trainers" of proctor.config.ts adds one.`;
    throw new ApiError('provider_not_found', message, { param: 'provider' });
  }
  if (provider.methods.includes(method)) return provider;
  const message = `method is ${JSON.stringify(method)}, and ${name} trains by ${provider.methods.join(' or ')} alone.`;
  throw new ApiError('invalid_parameter', message, { param: 'method' });
}

/**
 * The error for a proof without tasks. If the data contains held-out tasks, the message also says so, because that
 * would be the next error.
 */
async function withoutTasks(plan: () => Promise<unknown>): Promise<ApiError> {
  const message =
    'evaluate names no tasks: give evaluate.tasks (--evaluate <taskset>), or tasksets in held_out (--held-out <taskset>).';
  const held = await plan().then(
    () => undefined,
    (error: unknown) => error,
  );
  if (held !== undefined && !(held instanceof ApiError && held.code === 'held_out_task')) throw held;
  const both = held === undefined ? message : `${message} And from what is trained on: ${held.message}`;
  return new ApiError('missing_required_parameter', both, { param: 'evaluate.tasks' });
}

async function loadAll(
  names: readonly string[],
  tasksets: Pick<Tasksets, 'load'>,
  signal: AbortSignal,
): Promise<readonly Taskset[]> {
  const loaded: Taskset[] = [];
  for (const name of new Set(names)) loaded.push(await tasksets.load(name, signal));
  return loaded;
}

/** @throws ApiError invalid_parameter when two tasks have the same id. */
function joinTasks(tasksets: readonly Taskset[]): readonly Task[] {
  const byId = new Map<string, Task>();
  for (const { name, tasks } of tasksets) {
    for (const task of tasks) {
      const known = byId.get(task.id);
      if (known !== undefined && (known.env !== task.env || known.scenario !== task.scenario)) {
        const message = `Two tasks of evaluate.tasks have the id ${preview(task.id)}, the second one in ${name}: name tasksets without such tasks.`;
        throw new ApiError('invalid_parameter', message, { param: 'evaluate.tasks' });
      }
      byId.set(task.id, task);
    }
  }
  return [...byId.values()];
}

/** @throws ApiError name_taken with advice about the existing model. */
async function register(
  registered: RegisteredModels,
  transaction: DatabaseTransaction,
  { account, name, base, target, gateway, checkpoints, jobId }: TrainedModel,
): Promise<void> {
  if (await registered.hasIn(transaction, account, name)) {
    const message = `The model is trained, and its name was given to another one meanwhile: register it under a free name with "proctor models add <name> --target ${target} --base ${base}".`;
    throw new ApiError('name_taken', message, { param: 'name' });
  }
  const model = { name, base, target, gateway, head: null, checkpoints: [...checkpoints] };
  await registered.addIn(transaction, account, model, jobId);
}
