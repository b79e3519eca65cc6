import type { AgentTool, ToolCall } from '../../contract/chat.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { SetupResult } from '../../contract/scenario.ts';
import type { EnvironmentClient } from '../../environment/client/environment-client.ts';
import type { OnWait } from '../../models/gateway/call-guard.ts';
import type { ModelDelta, ModelResponse } from '../../models/gateway/chat-model.ts';
import type { TurnRecorder } from '../../store/traces/event-recorder.ts';
import type { TraceSpan } from '../../support/telemetry/trace-span.ts';
import type { ResultBudget } from './result-budget.ts';
import type { Transcript } from './transcript.ts';
import type { UserConversation } from './user/user-conversation.ts';

/** The side that acts in a turn. `AgentLoop` asks a model, either of a gateway or a reference model. */
export interface Agent {
  /**
   * Acts until it has answered or taken `maxSteps` steps. It records each step and adds it to the transcript.
   *
   * @throws BoundaryError boundary `model` or `environment`; the signal's reason; the error with which the recorder
   *   failed. Every call in the transcript has a result even then.
   */
  takeTurn(turn: AgentTurn): Promise<'answered' | 'max_steps' | 'length'>;
  /** Answer that fits and was not given as the last text, such as by `submit_answer`; undefined without one. */
  readonly submitted?: Json | undefined;
  /** True if the agent takes only one turn, so that it cannot be asked to repair its answer. Default false. */
  readonly playsOnce?: boolean;
}

/** A turn and everything that the agent needs for it. */
export interface AgentTurn {
  readonly turn: number;
  /** Steps of earlier turns. The numbers of this turn's steps continue from there. */
  readonly stepsBefore: number;
  readonly maxSteps: number;
  readonly transcript: Transcript;
  readonly progress: TurnProgress;
  readonly client: EnvironmentClient;
  readonly setup: SetupResult;
  /** The simulated user, for an agent that talks to it through a tool. */
  readonly user?: UserConversation | undefined;
  readonly tools: readonly AgentTool[];
  readonly readOnlyTools: ReadonlySet<string>;
  readonly sampling: JsonObject;
  readonly recorder: TurnRecorder;
  readonly signal: AbortSignal;
  /** Milliseconds for one tool call. */
  readonly toolCallMs: number;
  readonly resultBudget: ResultBudget;
  /** Collects the calls that the environment has not answered, including stopped ones. */
  readonly unanswered?: Set<ToolCall> | undefined;
  /** Called with each piece of the agent's text; once with all of it if the text is not streamed. */
  readonly onDelta?: ((delta: ModelDelta) => void) | undefined;
  readonly onWait?: OnWait | undefined;
  /** Span of the run or the turn. */
  readonly span: TraceSpan;
}

/** Progress of a turn. It is up to date even when the agent throws. */
export interface TurnProgress {
  /** One response for each completed step, whose calls have all been answered. */
  readonly responses: ModelResponse[];
  /** Wall-clock milliseconds of tool calls. Concurrent calls count once. */
  toolMs: number;
}
