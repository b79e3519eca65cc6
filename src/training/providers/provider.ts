import type { DatasetFormat } from '../../contract/dataset.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { Checkpoint } from '../../contract/model.ts';
import type { NewTrainingEvent, TrainingMethod } from '../../contract/training.ts';

/**
 * A service at a URL, or a program, that trains models. One provider is used by all jobs of its name, one call at a time
 * for each job. Every call may be repeated after a crash: what was made before is found again by the id of the job.
 *
 * Calls reject with `ProviderRefused` for what does not get better by itself, and `ProviderAway` for what may.
 */
export interface TrainingProvider {
  readonly name: string;
  readonly kind: 'openai' | 'together' | 'fireworks' | 'command' | 'imitation';
  readonly methods: readonly TrainingMethod[];
  /** Lines of a training file that it takes at least. */
  readonly minimumLines: number;
  /** Bytes of one file that it takes at most. */
  readonly maximumBytes: number;
  /** A key of `gateways`: who answers for its models. Undefined: by the pattern of their names. */
  readonly gateway?: string | undefined;
  /** Milliseconds between two polls at least. Default 5,000. */
  readonly shortestPollMs?: number;
  /** Formats by method. */
  format(method: TrainingMethod): DatasetFormat;
  /** Sees to it that the provider has the files. */
  upload(work: TrainingWork): Promise<void>;
  /** Sees to it that the provider has one job: one that is there is found, and none is made then. */
  submit(work: TrainingWork): Promise<void>;
  /** Whether the provider has a job of ours, after a submission whose end is not known. */
  find(work: TrainingWork): Promise<boolean>;
  poll(work: TrainingWork): Promise<ProviderReport>;
  /** Asks for the end. One that has ended is no error: `poll` tells how. */
  cancel(work: TrainingWork): Promise<void>;
  /**
   * Makes the model answer where the provider needs that; repeated until it is done.
   *
   * @returns the target, and whether it is there; undefined where nothing is needed.
   */
  deploy?(work: TrainingWork, target: string): Promise<Deployment>;
}

export interface Deployment {
  readonly target: string;
  readonly isReady: boolean;
}

/** A job, as its provider needs to know it. */
export interface TrainingWork {
  /** `train_…`: the provider's files and jobs carry it, so that they are found again. */
  readonly jobId: string;
  /** The name of the model that is made. */
  readonly name: string;
  /** The provider's name of it. */
  readonly base: string;
  /** A key of `gateways` that has it; null: by pattern. */
  readonly baseGateway: string | null;
  readonly method: TrainingMethod;
  readonly hyperparameters: JsonObject;
  readonly datasetHash: string;
  readonly trainFile: string;
  /** Undefined: there are no lines for it. */
  readonly validationFile: string | undefined;
  /** A folder of this job alone, which exists. */
  readonly directory: string;
  /** Names that were kept: those of the provider, and places. Names that begin with `_` are shown to nobody. */
  readonly remote: Readonly<Record<string, string>>;
  /** Aborted when the job is cancelled, somebody else has it, or the process stops. */
  readonly signal: AbortSignal;
  /** Keeps names in the database at once, and in `remote`. @throws where the job is no longer worked on here. */
  keep(names: Readonly<Record<string, string>>): Promise<void>;
  /** Called right before something is made that must not be made twice. @throws as `keep`. */
  stillMine(): Promise<void>;
}

/** How a provider's job stands. */
export interface ProviderReport {
  readonly status: 'queued' | 'training' | 'succeeded' | 'failed' | 'cancelled';
  /** The name of the model; set where it succeeded. */
  readonly target?: string | undefined;
  /** A key of `gateways`, where the provider knows who answers for the model. */
  readonly gateway?: string | undefined;
  /** Set where it failed. */
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  readonly progress?: { readonly done: number; readonly total: number } | undefined;
  /** All of them so far. */
  readonly checkpoints?: readonly Checkpoint[] | undefined;
  /** New since the last report. */
  readonly events?: readonly NewTrainingEvent[] | undefined;
  /** Kept together with the events. */
  readonly remote?: Readonly<Record<string, string>> | undefined;
}

/** It will not get better by itself: the job fails. The message says what to do. */
export class ProviderRefused extends Error {
  override readonly name = 'ProviderRefused';
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The provider does not answer, or not now: the same is tried again. */
export class ProviderAway extends Error {
  override readonly name = 'ProviderAway';
  /** Milliseconds that it asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: ErrorOptions & { readonly retryAfterMs?: number | undefined } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}
