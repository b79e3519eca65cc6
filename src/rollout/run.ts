import type { ConnectOptions, EnvironmentClient } from '../client/environment-client.ts';
import type { RunErrorBody } from '../contract/errors.ts';
import type { EventOf } from '../contract/event.ts';
import type { Json } from '../contract/json.ts';
import type { StopReason } from '../contract/trace.ts';
import type { ChatModel, ModelDelta, ReferenceContext } from '../model/chat-model.ts';
import type { HarnessModels } from '../model/model-config.ts';
import type { TraceOptions } from '../telemetry/trace-span.ts';
import type { EventRecorder } from '../trace/event-recorder.ts';
import type { Agent } from './agent.ts';
import type { RolloutLimits } from './limits.ts';
import type { RunScript } from './run-script.ts';

export interface RunOptions {
  /** The body of the trace's `run.queued`: what to run. */
  readonly request: EventOf<'run.queued'>;
  /** Name of the worker, for the trace. */
  readonly worker: string;
  /** True: `connect` waits for a place and says when it has it, and until then the run's time does not begin. */
  readonly waitsForPlace?: boolean;
  /** A fresh environment for this run alone; the run closes it. */
  connect(options: ConnectOptions): Promise<EnvironmentClient>;
  /** Makes the side that makes the moves, where that is not the model by itself. @throws BoundaryError where it cannot. */
  readonly createAgent?: (() => Agent) | undefined;
  /** @throws BoundaryError boundary `model` for a name that cannot be used. */
  createModel(name: string, context: ReferenceContext): ChatModel;
  /** A model that the harness asks: for a simulated user, or as a judge. Default: `createModel`. @throws as `createModel` */
  createHarnessModel?(name: string): ChatModel;
  /** Models that the harness calls, where neither the request nor the scenario names them. */
  readonly harnessModels?: HarnessModels;
  readonly recorder: EventRecorder;
  /** Aborted with a `RunInterrupted` as its reason. */
  readonly signal: AbortSignal;
  readonly onDelta?: (delta: ModelDelta) => void;
  /** SHA-256 of the environment's code, hex; null where it is not known. */
  readonly environmentHash?: string | null;
  readonly limits?: Partial<RolloutLimits>;
  /** Turns and agent of a run that repeats another one. Default: one turn of its model. */
  readonly script?: RunScript | undefined;
  /** The telemetry trace of its spans. Default: no spans. */
  readonly trace?: TraceOptions & { readonly attempt: number };
}

/** Why a run is told to stop before its end. */
export class RunInterrupted extends Error {
  override readonly name = 'RunInterrupted';

  /** `cancelled`: someone asked for it; it gets its final state. `released`: this worker stops; another runs it again. */
  constructor(readonly kind: 'cancelled' | 'released') {
    super(kind === 'cancelled' ? 'The run was cancelled' : 'The worker is shutting down and gave the run back');
  }
}

export type RunOutcome =
  | {
      readonly status: 'completed' | 'failed' | 'cancelled';
      readonly stopReason: StopReason;
      readonly answer: Json;
      readonly reward: number | null;
      readonly error: RunErrorBody | null;
    }
  /** Interrupted as `released`: no `run.finished` was written. */
  | { readonly status: 'released' }
  /** Its environment died with other sessions in it: no `run.finished` was written, and another attempt can follow. */
  | { readonly status: 'lost'; readonly error: RunErrorBody | null };
