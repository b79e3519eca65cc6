import type {
  DatasetFormat,
  DatasetManifest,
  DatasetSelect,
  DatasetSource,
  DatasetStepName,
} from '../../contract/dataset.ts';
import type { Task } from '../../contract/task.ts';
import type { Database } from '../../database/database.ts';
import type { TraceStore } from '../../trace/trace-store.ts';

/** What a dataset is made with. */
export interface DatasetParts {
  readonly database: Database;
  /** Its redactor knows the secrets: a line in which it finds one is dropped. */
  readonly traces: Pick<TraceStore, 'blob' | 'redactor'>;
  /** Tasks that a scenario declares, for traces outside of evaluations; none where it is not known. */
  readonly declaredTasks?:
    | ((env: string, scenario: string, signal: AbortSignal) => Promise<readonly Task[]>)
    | undefined;
}

export interface DatasetRequest {
  /** Undefined: the traces of every account (for local tools alone). */
  readonly account: string | undefined;
  readonly from: DatasetSource;
  readonly format: DatasetFormat;
  readonly select: DatasetSelect;
  /** Tasksets that nothing may be trained on, read already. */
  readonly heldOut: readonly { readonly name: string; readonly tasks: readonly Task[] }[];
}

export interface DatasetOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: DatasetProgress) => void) | undefined;
}

export interface DatasetProgress {
  readonly step: DatasetStepName;
  /** Traces so far. */
  readonly done: number;
}

/**
 * Everything before a line is written: select, deduplicate, choose, split and guard. It writes nothing.
 *
 * @throws ApiError `held_out_task` with at most 20 ids; `evaluation_not_found`; the reason of the signal.
 */
export declare function planDataset(
  parts: DatasetParts,
  request: DatasetRequest,
  options: DatasetOptions,
): Promise<DatasetPlan>;

/** Opaque: what `buildDataset` writes. */
export interface DatasetPlan {
  readonly request: DatasetRequest;
  readonly steps: DatasetManifest['steps'];
  /** Traces, or pairs for `openai-dpo`, that get a line unless rendering drops them. */
  readonly lines: number;
}

/**
 * Writes a dataset: `train.jsonl`, `validation.jsonl`, `sources.jsonl`, `dataset.json` and `dataset.md`. They are written
 * into a folder beside `folder`, which takes its name when all is there: a folder that exists is a whole dataset. One that
 * was there before is replaced if it is a dataset or empty. The same traces and request give the same bytes.
 *
 * A dataset without lines is one too: whoever trains on it looks at `lines`.
 *
 * @throws as `planDataset`; Error for a folder that holds anything else.
 */
export declare function buildDataset(
  parts: DatasetParts,
  request: DatasetRequest,
  folder: string,
  options: DatasetOptions,
): Promise<DatasetManifest>;
