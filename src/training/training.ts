import { join } from 'node:path';
import type { Logger } from 'pino';
import type { TrainerConfig } from '../config/config-schema.ts';
import { ApiError } from '../contract/errors.ts';
import type { ResolvedModel } from '../contract/model.ts';
import type { Task } from '../contract/task.ts';
import type { TrainerList, TrainingAccepted, TrainingRequest } from '../contract/training.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import type { EvaluationStore } from '../evaluations/evaluation-store.ts';
import type { Models } from '../model/create-model.ts';
import type { ConfiguredGateway } from '../model/model-config.ts';
import type { RegisteredModels } from '../model/registered-models.ts';
import { preview } from '../schema/json-schema.ts';
import type { Tasksets } from '../tasks/find-tasksets.ts';
import type { Taskset } from '../tasks/taskset.ts';
import { didYouMean } from '../text/did-you-mean.ts';
import type { DatasetParts, DatasetRequest } from './dataset/build-dataset.ts';
import { buildDataset, planDataset } from './dataset/build-dataset.ts';
import { type JobDriver, startJobDriver } from './jobs/job-driver.ts';
import { createTrainingJobStore, type TrainingJobStore } from './jobs/job-store.ts';
import type { StepParts, TrainedModel, TrainingProviders } from './jobs/step-parts.ts';
import { NO_SCENARIO, tryModel } from './jobs/try-model.ts';
import { createProviders } from './providers/create-providers.ts';
import type { TrainingProvider } from './providers/provider.ts';

export interface TrainingOptions {
  readonly database: Database;
  readonly datasets: DatasetParts;
  readonly evaluations: EvaluationStore;
  readonly models: Models;
  readonly registered: RegisteredModels;
  readonly trainers: Readonly<Record<string, TrainerConfig>>;
  readonly gateways: readonly ConfiguredGateway[];
  /** The working directory: datasets and outputs of jobs are under `.proctor/training` in it. */
  readonly directory: string;
  /** Where the pages are, without a slash at the end. */
  readonly appUrl: string;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  readonly deployTimeoutMs?: number | undefined;
}

/** Training on a database: its jobs, and who works on them. */
export interface Training {
  readonly jobs: TrainingJobStore;
  readonly trainers: TrainerList;
  /**
   * Checks a request and makes its job.
   *
   * @throws ApiError provider_not_found, invalid_parameter, taskset_not_found, evaluation_not_found, model_not_found,
   *   held_out_task, name_taken: then there is no job.
   */
  begin(beginning: TrainingBeginning): Promise<TrainingAccepted>;
  /** Works on the jobs of the database. Whoever started it stops it. */
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
  readonly alongside?: (transaction: DatabaseTransaction, accepted: TrainingAccepted) => Promise<void>;
}

/** @throws Error that names a trainer whose settings do not fit together. There is nothing to close but its drivers. */
export function createTraining(options: TrainingOptions): Training {
  const { database, registered, appUrl, now, models, evaluations } = options;
  const providers = createProviders(options);
  const drivers = new Set<JobDriver>();
  const jobs = createTrainingJobStore({
    ...{ database, appUrl, now },
    isNameTaken: (...name) => registered.hasIn(...name),
    onChange: () => {
      for (const driver of drivers) driver.wake();
    },
  });
  const parts: Omit<StepParts, 'logger' | 'now'> = {
    ...{ database, providers, evaluations, deployTimeoutMs: options.deployTimeoutMs },
    directory: join(options.directory, '.proctor', 'training'),
    buildDataset: ({ account, request: { from, select } }, heldOut, folder, { signal, format }) =>
      buildDataset(options.datasets, { account, from, select, format, heldOut }, folder, { signal }),
    tryModel: (target, gateway, signal) => tryModel(models.create({ target, gateway }, NO_SCENARIO), signal),
    register: (transaction, model) => register(registered, transaction, model),
  };
  return {
    jobs,
    trainers: {
      object: 'list',
      data: providers.all.map(({ name, kind, methods, minimumLines }) => ({
        ...{ name, kind, methods: [...methods], minimum_lines: minimumLines },
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
  { account, keyId, request, tasksets, checkTasks, signal, alongside }: TrainingBeginning,
): Promise<TrainingAccepted> {
  const provider = findProvider(providers, request);
  const { evaluate } = request;
  const base = await registered.resolve(account, request.base, 'base');
  // A provider's base for training alone may be unknown to the gateways.
  if (evaluate !== null || provider.kind === 'imitation') checkBase(models, base);
  const heldOut = await loadAll(request.held_out, tasksets, signal);
  const names = evaluate === null ? [] : [evaluate.tasks ?? request.held_out].flat();
  if (evaluate !== null && names.length === 0) {
    const message = 'evaluate names no tasks: give evaluate.tasks, or tasksets in held_out.';
    throw new ApiError('missing_required_parameter', message, { param: 'evaluate.tasks' });
  }
  const proof = await loadAll(names, tasksets, signal);
  const tasks = joinTasks(proof);
  for (const taskset of proof) await checkTasks(taskset, signal);
  const format = provider.format(request.method);
  const named = [...heldOut, ...proof].map((taskset) => ({ name: taskset.name ?? '', tasks: taskset.tasks }));
  const plan: DatasetRequest = { account, from: request.from, select: request.select, format, heldOut: named };
  await planDataset(datasets, plan, { signal });
  return await jobs.create({
    ...{ account, keyId },
    request: {
      ...request,
      base_model: { target: base.target, gateway: base.gateway },
      evaluate: evaluate && { ...evaluate, tasks: names },
    },
    tasks: { heldOut: named, proof: tasks },
    ...(alongside && { alongside }),
  });
}

/** @throws ApiError provider_not_found, invalid_parameter */
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

function checkBase(models: Models, base: ResolvedModel): void {
  try {
    models.check(base);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new ApiError(error.code, error.message, { param: 'base', cause: error });
  }
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

/** @throws ApiError invalid_parameter for one id of two tasks. */
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

/** @throws ApiError name_taken, which says what to do with the model that is there. */
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
