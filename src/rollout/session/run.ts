import type { RunErrorBody } from '../../contract/error-shapes.ts';
import type { Json } from '../../contract/json.ts';
import type { EventOf } from '../../contract/service/event.ts';
import type { StopReason } from '../../contract/service/trace.ts';
import type { ConnectOptions, EnvironmentClient } from '../../environment/client/environment-client.ts';
import type { ChatModel, ModelDelta, ReferenceContext } from '../../models/gateway/chat-model.ts';
import type { HarnessModels } from '../../models/gateway/model-config.ts';
import type { EventRecorder } from '../../store/traces/event-recorder.ts';
import type { TraceOptions } from '../../support/telemetry/trace-span.ts';
import type { Agent } from './agent.ts';
import type { RolloutLimits } from './limits.ts';
import type { RunScript } from './run-script.ts';

export interface RunOptions {
  /** The body of the trace's `run.queued`: what to run. */
  readonly request: EventOf<'run.queued'>;
  /** Name of the worker, for the trace. */
  readonly worker: string;
  /** True if `connect` waits for a free process. The run's time starts when it has one. */
  readonly waitsForPlace?: boolean;
  /** Connects a fresh environment for this run, which closes it. */
  connect(options: ConnectOptions): Promise<EnvironmentClient>;
  /** Makes the agent if a plain model is not enough. @throws BoundaryError if it cannot. */
  readonly createAgent?: (() => Agent) | undefined;
  /** Makes the run's model. @throws BoundaryError boundary `model` for a name that cannot be used. */
  createModel(name: string, context: ReferenceContext): ChatModel;
  /** Makes the model of a simulated user or a judge. Default: `createModel`. @throws as `createModel` */
  createHarnessModel?(name: string): ChatModel;
  /** Default models of simulated users and judges. */
  readonly harnessModels?: HarnessModels;
  readonly recorder: EventRecorder;
  /** Aborted with a `RunInterrupted` as its reason. */
  readonly signal: AbortSignal;
  readonly onDelta?: (delta: ModelDelta) => void;
  /** SHA-256 of the environment's code, hex; null if unknown. */
  readonly environmentHash?: string | null;
  readonly limits?: Partial<RolloutLimits>;
  /** Turns and agent of a run that repeats another one. Default: one turn of its model. */
  readonly script?: RunScript | undefined;
  /** The telemetry trace of its spans. Default: no spans. */
  readonly trace?: TraceOptions & { readonly attempt: number };
}

/** The reason for which a run is stopped before its end. */
export class RunInterrupted extends Error {
  override readonly name = 'RunInterrupted';

  /**
   * `cancelled`: a client cancelled the run, which gets its final state. `released`: this worker stops; another one
   * runs it again.
   */
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
  /** Interrupted as `released`, without a `run.finished` event. */
  | { readonly status: 'released' }
  /**
   * The environment died while it held other sessions. Without a `run.finished` event, so that another attempt can
   * follow.
   */
  | { readonly status: 'lost'; readonly error: RunErrorBody | null };
