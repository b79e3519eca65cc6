import type { EnvironmentClient } from '../client/environment-client.ts';
import type { AgentTool } from '../contract/chat.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { SetupResult } from '../contract/scenario.ts';
import type { OnWait } from '../model/call-guard.ts';
import type { ModelDelta, ModelResponse } from '../model/chat-model.ts';
import type { TraceSpan } from '../telemetry/trace-span.ts';
import type { TurnRecorder } from '../trace/event-recorder.ts';
import type { ResultBudget } from './result-budget.ts';
import type { Transcript } from './transcript.ts';
import type { UserSide } from './user-side.ts';

/** The side that makes the moves of a turn. `AgentLoop` is the one that asks a model, be it of a gateway or a reference model. */
export interface Agent {
  /**
   * Makes moves until it has answered, or `maxSteps` are taken. It records each move and adds it to the transcript.
   *
   * @throws BoundaryError boundary `model` or `environment`; the reason of the signal; what the recorder failed with.
   *   The transcript is whole in each case: no call is left without a result.
   */
  takeTurn(turn: AgentTurn): Promise<'answered' | 'max_steps' | 'length'>;
  /** The answer that it gave otherwise than by its last text, and that fits; undefined without one. */
  readonly submitted?: Json | undefined;
  /** True for one that takes one turn alone: it is not asked again for an answer that fits. Default false. */
  readonly playsOnce?: boolean;
}

/** A turn as the agent gets it. */
export interface AgentTurn {
  readonly turn: number;
  /** Steps that earlier turns took; numbering goes on from there. */
  readonly stepsBefore: number;
  readonly maxSteps: number;
  readonly transcript: Transcript;
  readonly progress: TurnProgress;
  readonly client: EnvironmentClient;
  readonly setup: SetupResult;
  /** The simulated user, for an agent that talks with it by a tool. */
  readonly user?: UserSide | undefined;
  readonly tools: readonly AgentTool[];
  readonly readOnlyTools: ReadonlySet<string>;
  readonly sampling: JsonObject;
  readonly recorder: TurnRecorder;
  readonly signal: AbortSignal;
  /** Milliseconds that one tool call may take. */
  readonly toolCallMs: number;
  readonly resultBudget: ResultBudget;
  /** The agent's text as it comes, at once where it comes so. */
  readonly onDelta?: ((delta: ModelDelta) => void) | undefined;
  readonly onWait?: OnWait | undefined;
  /** Span of the run or the turn. */
  readonly span: TraceSpan;
}

/** Progress of a turn. It stays true when the agent throws. */
export interface TurnProgress {
  /** One for each completed step: the model answered, and so was each of its calls. */
  readonly responses: ModelResponse[];
  /** Wall time of the tools, in milliseconds: calls that ran together do not count twice. */
  toolMs: number;
}
