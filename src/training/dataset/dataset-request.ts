import type { JsonSchema } from '../../contract/json.ts';
import type {
  DatasetCounts,
  DatasetFormat,
  DatasetSelect,
  DatasetSource,
  DatasetStepName,
} from '../../contract/service/dataset.ts';
import type { Task } from '../../contract/task.ts';
import type { Database } from '../../store/database/database.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';
import type { Redactor } from '../../support/redaction/redactor.ts';
import type { SplitLines } from './split.ts';

/** The parts of an installation that build a dataset. */
export interface DatasetParts {
  readonly database: Database;
  readonly traces: Pick<TraceStore, 'blob'>;
  /** Detects secrets. A line that contains one is dropped. */
  readonly redactor: Redactor;
  /** Tasks that a scenario declares, for traces outside of evaluations. Empty for an unknown environment. */
  readonly declaredTasks?:
    | ((env: string, scenario: string, signal: AbortSignal) => Promise<readonly Task[]>)
    | undefined;
  /** Schema of a scenario's arguments, whose defaults are filled in before tasks are compared. */
  readonly argsSchema?:
    | ((env: string, scenario: string, signal: AbortSignal) => Promise<JsonSchema | undefined>)
    | undefined;
}

export interface DatasetRequest {
  readonly account: string;
  readonly from: DatasetSource;
  readonly format: DatasetFormat;
  readonly select: DatasetSelect;
  /** Tasksets that must not be trained on, with their tasks. */
  readonly heldOut: readonly { readonly name: string; readonly tasks: readonly Task[] }[];
}

export interface DatasetOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: DatasetProgress) => void) | undefined;
}

export interface DatasetProgress {
  readonly step: DatasetStepName;
  /** Number of traces so far. */
  readonly done: number;
}

/** The lines that `buildDataset` writes, and the counts of the steps that chose them. */
export interface DatasetPlan {
  readonly request: DatasetRequest;
  /** The steps up to `guard`. */
  readonly steps: readonly DatasetCounts[];
  readonly lines: SplitLines;
}
