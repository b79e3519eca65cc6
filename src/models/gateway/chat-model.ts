import type { AgentTool, TranscriptMessage } from '../../contract/chat.ts';
import type { Json, JsonObject, JsonSchema } from '../../contract/json.ts';
import type { ModelDelta, ModelOutput } from '../dialects/model-output.ts';
import type { OnWait } from './call-guard.ts';

/** A model that answers a transcript with one message. */
export interface ChatModel {
  readonly name: string;
  /**
   * Gives one response. The gateway is retried inside, before the first token.
   *
   * @throws BoundaryError boundary `model`, code `model_failed`, `model_timeout` or `context_length_exceeded`; the
   *   reason of the signal when that was aborted.
   */
  respond(request: ModelRequest): Promise<ModelResponse>;
  /**
   * Checks the results of a response's calls before the turn goes on. For a model whose calls must not fail.
   *
   * @throws BoundaryError that ends the turn.
   */
  checkResults?(results: readonly ToolMessage[]): void;
}

type ToolMessage = Extract<TranscriptMessage, { role: 'tool' }>;

export interface ModelRequest {
  readonly messages: readonly TranscriptMessage[];
  readonly tools: readonly AgentTool[];
  /** Passed to the gateway unchanged (`temperature`, `seed`, ...). */
  readonly sampling: JsonObject;
  /** True sends whole tool results to the model. Default: the first 32 KiB of each. */
  readonly hasWholeResults?: boolean | undefined;
  readonly signal: AbortSignal;
  /** Called with each piece of text. */
  readonly onDelta?: (delta: ModelDelta) => void;
  /** Called at each wait before a try. */
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
  /** Name of the scenario, for messages. */
  readonly scenario: string;
  /** Schema of a structured answer, known after setup; null if the answer is text. */
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
