import type {
  DatasetCounts,
  DatasetFormat,
  DatasetSelect,
  DatasetSource,
  DatasetStepName,
} from '../../contract/dataset.ts';
import type { Task } from '../../contract/task.ts';
import type { Database } from '../../database/database.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import type { TraceStore } from '../../trace/trace-store.ts';
import type { SplitLines } from './split.ts';

/** The parts of an installation that a dataset is made with. */
export interface DatasetParts {
  readonly database: Database;
  readonly traces: Pick<TraceStore, 'blob'>;
  /** Knows the secrets: a line in which it finds one is dropped. */
  readonly redactor: Redactor;
  /** Tasks that a scenario declares, for traces outside of evaluations; none where it is not known. */
  readonly declaredTasks?:
    | ((env: string, scenario: string, signal: AbortSignal) => Promise<readonly Task[]>)
    | undefined;
}

export interface DatasetRequest {
  readonly account: string;
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

/** The lines that `buildDataset` writes, and how they were found. */
export interface DatasetPlan {
  readonly request: DatasetRequest;
  /** The steps up to `guard`. */
  readonly steps: readonly DatasetCounts[];
  readonly lines: SplitLines;
}
