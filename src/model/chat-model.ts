import type { AgentTool, TranscriptMessage } from '../contract/chat.ts';
import type { Json, JsonObject, JsonSchema } from '../contract/json.ts';
import type { ModelDelta, ModelOutput } from '../dialects/model-output.ts';
import type { OnWait } from './call-guard.ts';

/** A model that answers a transcript with one message. */
export interface ChatModel {
  readonly name: string;
  /**
   * One response. Retries of the gateway happen inside, before the first token.
   *
   * @throws BoundaryError boundary `model`, code `model_failed`, `model_timeout` or `context_length_exceeded`; the
   *   reason of the signal when that was aborted.
   */
  respond(request: ModelRequest): Promise<ModelResponse>;
  /**
   * Sees the results of a response's calls before the turn goes on. For a model whose calls must not fail.
   *
   * @throws BoundaryError which ends the turn.
   */
  checkResults?(results: readonly ToolMessage[]): void;
}

type ToolMessage = Extract<TranscriptMessage, { role: 'tool' }>;

export interface ModelRequest {
  readonly messages: readonly TranscriptMessage[];
  readonly tools: readonly AgentTool[];
  /** Forwarded to the gateway as they are (`temperature`, `seed`, ...). */
  readonly sampling: JsonObject;
  /** Tool results go to the model to their end. Default: the first 32 KiB of each. */
  readonly hasWholeResults?: boolean | undefined;
  readonly signal: AbortSignal;
  /** Text as it comes. */
  readonly onDelta?: (delta: ModelDelta) => void;
  /** Told of each wait before a try. */
  readonly onWait?: OnWait | undefined;
}

export type { ModelDelta };

export interface ModelResponse extends ModelOutput {
  /** Attempts that failed before this response came. */
  readonly retries: number;
}

/** Data that reference models get from the rollout. */
export interface ReferenceContext {
  readonly seed: number | null;
  /** Its name, for messages. */
  readonly scenario: string;
  /** The schema of a structured answer, once the scenario is set up; null where the answer is text. */
  answerSchema(): JsonSchema | null;
  /** The scenario's solution, from the harness; `results` are the tool results since it began. */
  solution(
    results: readonly SolutionStepResult[],
    signal: AbortSignal,
  ): Promise<{
    readonly calls: readonly { readonly name: string; readonly arguments: JsonObject }[];
    readonly answer: Json;
    readonly done: boolean;
  }>;
}

export interface SolutionStepResult {
  readonly content: readonly { readonly type: string; readonly [key: string]: unknown }[];
  readonly structured_content: JsonObject | null;
  readonly is_error: boolean;
}
