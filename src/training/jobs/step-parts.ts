import type { Logger } from 'pino';
import type { DatasetManifest } from '../../contract/dataset.ts';
import type { Database, DatabaseTransaction } from '../../database/database.ts';
import type { EvaluationStore } from '../../evaluations/evaluation-store.ts';
import type { TrainingProvider } from '../providers/provider.ts';
import type { Job, JobTasks } from './job-rows.ts';

/** Everything that jobs are driven with. */
export interface StepParts {
  readonly database: Database;
  readonly logger: Pick<Logger, 'error' | 'warn'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Its folder `<job id>` is the job's. */
  readonly directory: string;
  /** Writes the dataset of a job into a folder. The same job gives the same bytes, as long as its traces are there. */
  readonly buildDataset: (
    job: Pick<Job, 'account' | 'request'>,
    heldOut: JobTasks['heldOut'],
    folder: string,
    options: { readonly signal: AbortSignal; readonly format: DatasetManifest['format'] },
  ) => Promise<DatasetManifest>;
  readonly providers: TrainingProviders;
  readonly evaluations: EvaluationStore;
  /** Asks a model for one completion with a tool schema. @throws Error that says what it answered. */
  readonly tryModel: (target: string, gateway: string | null, signal: AbortSignal) => Promise<void>;
  /** Writes the model into the registry, in the transaction in which its job goes on. */
  readonly register: (transaction: DatabaseTransaction, model: TrainedModel) => Promise<void>;
  /** How long a trained model may take until it answers. Default 30 min. */
  readonly deployTimeoutMs?: number | undefined;
}

export interface TrainingProviders {
  find(name: string): TrainingProvider | undefined;
  /** In the order of the configuration, and `proctor/imitation`. */
  readonly all: readonly TrainingProvider[];
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
