import type { AssistantMessage, FinishReason, Usage } from '../../contract/chat.ts';
import type { Json } from '../../contract/json.ts';

/** One response of a model, in the same form for every protocol. */
export interface ModelOutput {
  readonly message: AssistantMessage;
  readonly finishReason: FinishReason;
  readonly usage: Usage;
  readonly tokenIds: Json;
  readonly logprobs: Json;
  /** Id of the response at the gateway. */
  readonly id?: string | null;
  /** Name of the model that answered, given by the gateway. */
  readonly model?: string | null;
}

/** A streamed piece of a response's text. */
export interface ModelDelta {
  readonly content?: string;
  readonly reasoning?: string;
  readonly refusal?: string;
}

/** Usage of a response that reports none. */
export const NO_USAGE: Usage = {
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cost_usd: null,
};
