import type { Logger } from 'pino';
import type { DatasetManifest } from '../../contract/service/dataset.ts';
import type { EvaluationStore } from '../../evaluation/evaluations/evaluation-store.ts';
import type { Database, DatabaseTransaction } from '../../store/database/database.ts';
import type { TrainingProviders } from '../providers/provider.ts';
import type { Job, JobTasks } from './job-rows.ts';

/** Everything that the steps of jobs need. */
export interface StepParts {
  readonly database: Database;
  readonly logger: Pick<Logger, 'error' | 'warn'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Folder of all jobs. A job uses the subfolder `<job id>`. */
  readonly directory: string;
  /** Writes the dataset of a job into a folder. The result has the same bytes as long as its traces exist. */
  readonly buildDataset: (
    job: Pick<Job, 'account' | 'request'>,
    heldOut: JobTasks['heldOut'],
    folder: string,
    options: { readonly signal: AbortSignal; readonly format: DatasetManifest['format'] },
  ) => Promise<DatasetManifest>;
  readonly providers: TrainingProviders;
  readonly evaluations: EvaluationStore;
  /** Asks a model for one completion with a tool schema. @throws Error with the model's answer. */
  readonly tryModel: (target: string, gateway: string | null, signal: AbortSignal) => Promise<void>;
  /** Registers the model, in the transaction in which its job continues. */
  readonly register: (transaction: DatabaseTransaction, model: TrainedModel) => Promise<void>;
  /** Milliseconds that a trained model may take until it answers. Default 30 min. */
  readonly deployTimeoutMs?: number | undefined;
}

export interface TrainedModel {
  readonly account: string;
  readonly name: string;
  readonly base: string;
  readonly target: string;
  readonly gateway: string | null;
  readonly checkpoints: NonNullable<Job['result']['checkpoints']>;
  readonly jobId: string;
}
