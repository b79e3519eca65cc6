import type { Selectable } from 'kysely';
import { ApiError } from '../../contract/errors.ts';
import type { Checkpoint, ResolvedModel } from '../../contract/model.ts';
import type { DatasetManifest } from '../../contract/service/dataset.ts';
import {
  TRAINING_JOB_ID_PATTERN,
  type TrainingError,
  type TrainingJob,
  type TrainingProof,
  type TrainingRequest,
  trainingStatusSchema,
} from '../../contract/service/training.ts';
import type { TrainingStatus } from '../../contract/service/training-states.ts';
import type { Task } from '../../contract/task.ts';
import type { Database } from '../../store/database/database.ts';
import type { TrainingJobsTable } from '../../store/database/tables/create-training-jobs.ts';
import { verdictOfProof } from './proof-verdict.ts';

export type TrainingJobRow = Selectable<TrainingJobsTable>;

/** The request of a job, with the names of the tasksets for its proof. */
export interface StoredRequest extends Omit<TrainingRequest, 'evaluate'> {
  readonly evaluate: {
    readonly tasks: readonly string[];
    readonly attempts: number;
    readonly seed: number | null;
  } | null;
  /** The provider's name behind `base` at the creation of the job. */
  readonly base_model: Pick<ResolvedModel, 'target' | 'gateway'>;
}

/** The tasks of a job at its creation. */
export interface JobTasks {
  /** Tasks that must not be trained on, including those of the proof. */
  readonly heldOut: readonly { readonly name: string; readonly tasks: readonly Task[] }[];
  readonly proof: readonly Task[];
}

/** Ids of the job's things at the provider, and the position up to which its events were read. */
export type Remote = Readonly<Record<string, string>>;

/** All results of a job so far. */
export interface JobResult {
  readonly checkpoints?: readonly Checkpoint[];
  readonly progress?: { readonly done: number; readonly total: number };
  /** The provider's name of the finished model. */
  readonly target?: string;
  /** A key of `gateways`. Null selects a gateway by pattern. */
  readonly gateway?: string | null;
  readonly trouble?: { readonly since: number; readonly message: string } | null;
  readonly error?: TrainingError;
  readonly baseEvaluation?: string;
  readonly modelEvaluation?: string;
  readonly proof?: Omit<TrainingProof, 'verdict'>;
  readonly proofError?: string;
  /** True after the warning about a long wait. */
  readonly warned?: boolean;
}

/** A parsed row. */
export interface Job {
  readonly id: string;
  readonly account: string;
  readonly keyId: string | null;
  readonly status: TrainingStatus;
  readonly request: StoredRequest;
  readonly dataset: DatasetManifest | null;
  readonly remote: Remote;
  readonly result: JobResult;
  readonly isCancelRequested: boolean;
  readonly failures: number;
  /** Milliseconds since 1970. */
  readonly statusSince: number;
}

export function toJob(row: TrainingJobRow): Job {
  return {
    id: row.job_id,
    account: row.account,
    keyId: row.key_id,
    status: statusOf(row),
    request: JSON.parse(row.request) as StoredRequest,
    dataset: row.dataset === null ? null : (JSON.parse(row.dataset) as DatasetManifest),
    remote: JSON.parse(row.remote) as Remote,
    result: JSON.parse(row.result) as JobResult,
    isCancelRequested: row.cancel_requested === 1,
    failures: row.failures,
    statusSince: Number(row.status_since),
  };
}

export function statusOf({ status }: Pick<TrainingJobRow, 'status'>): TrainingStatus {
  return trainingStatusSchema.parse(status);
}

/** The job in the form for clients. @param appUrl address of the pages, without a trailing slash. */
export function toTrainingJob(row: TrainingJobRow, appUrl: string): TrainingJob {
  const { id, status, request, dataset, remote, result, isCancelRequested } = toJob(row);
  const { checkpoints = [], progress = null, target = null, trouble, error = null } = result;
  return {
    object: 'training_job',
    job_id: id,
    job_url: jobUrl(appUrl, id),
    ...withEvaluation(request),
    status,
    cancel_requested: isCancelRequested,
    created_at: toTime(row.created_at),
    started_at: row.started_at === null ? null : toTime(row.started_at),
    finished_at: row.finished_at === null ? null : toTime(row.finished_at),
    dataset: dataset && toShownDataset(dataset),
    provider_ids: Object.fromEntries(Object.entries(remote).filter(([name]) => !name.startsWith('_'))),
    progress,
    checkpoints: [...checkpoints],
    target,
    trouble: trouble ? { since: toTime(trouble.since), message: trouble.message } : null,
    error,
    proof: result.proof ? toProof(result.proof) : null,
    proof_error: result.proofError ?? null,
    evaluations: { base: result.baseEvaluation ?? null, model: result.modelEvaluation ?? null },
  };
}

export function jobUrl(appUrl: string, jobId: string): string {
  return `${appUrl}/training/${jobId}`;
}

/** @throws ApiError job_not_found for an unknown job. */
export async function findJob(queries: Database['kysely'], account: string, jobId: string): Promise<TrainingJobRow> {
  const row = TRAINING_JOB_ID_PATTERN.test(jobId)
    ? await queries
        .selectFrom('training_jobs')
        .selectAll()
        .where('job_id', '=', jobId)
        .where('account', '=', account)
        .executeTakeFirst()
    : undefined;
  if (row !== undefined) return row;
  const message = `There is no training job ${JSON.stringify(jobId.slice(0, 100))}: GET /v1/training/jobs lists those that there are.`;
  throw new ApiError('job_not_found', message);
}

/** Reads the tasks of a job. They are read separately, because they may be many. */
export async function readJobTasks(queries: Database['kysely'], jobId: string): Promise<JobTasks> {
  const { tasks } = await queries
    .selectFrom('training_jobs')
    .select('tasks')
    .where('job_id', '=', jobId)
    .executeTakeFirstOrThrow();
  return JSON.parse(tasks) as JobTasks;
}

function withEvaluation({ evaluate, base_model: _, ...request }: StoredRequest) {
  return { ...request, evaluate: evaluate && { ...evaluate, tasks: [...evaluate.tasks] } };
}

function toProof(proof: Omit<TrainingProof, 'verdict'>): TrainingProof {
  return { ...proof, verdict: verdictOfProof(proof.compare.comparisons[0]) };
}

function toShownDataset({ format, hash, steps, lines, tasks, models }: DatasetManifest) {
  return { format, hash, steps, lines, tasks, models };
}

function toTime(milliseconds: number | string): string {
  return new Date(Number(milliseconds)).toISOString();
}
