import type { JsonObject } from '../../contract/json.ts';
import type { Checkpoint } from '../../contract/model.ts';
import type { DatasetFormat } from '../../contract/service/dataset.ts';
import type { NewTrainingEvent, TrainingMethod } from '../../contract/service/training.ts';

/**
 * A service at a URL, or a program, that trains models. All jobs of a name share one provider, with one call at a time
 * for each job. Every call may be repeated after a crash, and then finds the results of the earlier call by the id of
 * the job.
 *
 * Calls reject with `ProviderRefused` for lasting failures, and with `ProviderAway` for failures that may pass.
 */
export interface TrainingProvider {
  readonly name: string;
  readonly kind: 'openai' | 'together' | 'fireworks' | 'command' | 'imitation';
  readonly methods: readonly TrainingMethod[];
  /** Smallest number of lines of a training file. */
  readonly minimumLines: number;
  /** Largest size of a file, in bytes. */
  readonly maximumBytes: number;
  /** A key of `gateways` that serves the trained models. Undefined selects a gateway by pattern of the model's name. */
  readonly gateway?: string | undefined;
  /** Shortest time between two polls, in milliseconds. Default 5,000. */
  readonly shortestPollMs?: number;
  /** The dataset format for a method. */
  format(method: TrainingMethod): DatasetFormat;
  /** Uploads the files that the provider does not have yet. */
  upload(work: TrainingWork): Promise<void>;
  /** Creates the job at the provider, unless it exists already. */
  submit(work: TrainingWork): Promise<void>;
  /** True when the provider has the job. Called when the result of a submission is unknown. */
  find(work: TrainingWork): Promise<boolean>;
  poll(work: TrainingWork): Promise<ProviderReport>;
  /** Requests the end of the job. A job that has ended is not an error; `poll` reports how it ended. */
  cancel(work: TrainingWork): Promise<void>;
  /**
   * Deploys the model, if the provider requires that. It is repeated until the deployment is ready.
   *
   * @returns the target, and whether it is ready; undefined when no deployment is needed.
   */
  deploy?(work: TrainingWork, target: string): Promise<Deployment>;
}

export interface Deployment {
  readonly target: string;
  readonly isReady: boolean;
}

/** A job in the form for its provider. */
export interface TrainingWork {
  /** Id `train_…`. The provider's files and jobs contain it, so that they can be found again. */
  readonly jobId: string;
  /** The name of the new model. */
  readonly name: string;
  /** The provider's name of the base model. */
  readonly base: string;
  /** A key of `gateways` that serves the base model. Null selects a gateway by pattern. */
  readonly baseGateway: string | null;
  readonly method: TrainingMethod;
  readonly hyperparameters: JsonObject;
  readonly datasetHash: string;
  readonly trainFile: string;
  /** Undefined when the dataset has no lines for validation. */
  readonly validationFile: string | undefined;
  /** An existing folder that belongs to this job. */
  readonly directory: string;
  /** Stored ids of the provider, and read positions. Names that begin with `_` are internal and not shown. */
  readonly remote: Readonly<Record<string, string>>;
  /** Aborted when the job is cancelled, another process takes it, or this process stops. */
  readonly signal: AbortSignal;
  /** Stores names in the database at once, and in `remote`. @throws when this process no longer owns the job. */
  keep(names: Readonly<Record<string, string>>): Promise<void>;
  /** Checks the ownership right before a call that must not be made twice. @throws as `keep`. */
  stillMine(): Promise<void>;
}

/** The state of a provider's job. */
export interface ProviderReport {
  readonly status: 'queued' | 'training' | 'succeeded' | 'failed' | 'cancelled';
  /** The name of the model; set when the job succeeded. */
  readonly target?: string | undefined;
  /** A key of `gateways` that serves the model, if the provider knows it. */
  readonly gateway?: string | undefined;
  /** Set when the job failed. */
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  readonly progress?: { readonly done: number; readonly total: number } | undefined;
  /** All checkpoints so far. */
  readonly checkpoints?: readonly Checkpoint[] | undefined;
  /** Events since the last report. */
  readonly events?: readonly NewTrainingEvent[] | undefined;
  /** Names to store in the same commit as the events. */
  readonly remote?: Readonly<Record<string, string>> | undefined;
}

/** A lasting failure: the job fails. The message says what to do. */
export class ProviderRefused extends Error {
  override readonly name = 'ProviderRefused';
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The provider does not answer, or asks to try later. The same call is tried again. */
export class ProviderAway extends Error {
  override readonly name = 'ProviderAway';
  /** Milliseconds that the provider asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: ErrorOptions & { readonly retryAfterMs?: number | undefined } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

export interface TrainingProviders {
  find(name: string): TrainingProvider | undefined;
  /** Providers in the order of the configuration, and `proctor/imitation`. */
  readonly all: readonly TrainingProvider[];
}
