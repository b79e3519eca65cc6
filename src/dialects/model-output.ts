import type { AssistantMessage, FinishReason, Usage } from '../contract/chat.ts';
import type { Json } from '../contract/json.ts';

/** One response of a model, whatever protocol it came by. */
export interface ModelOutput {
  readonly message: AssistantMessage;
  readonly finishReason: FinishReason;
  readonly usage: Usage;
  readonly tokenIds: Json;
  readonly logprobs: Json;
  /** Id of the response at the gateway. */
  readonly id?: string | null;
  /** The model that answered, as the gateway names it. */
  readonly model?: string | null;
}

/** A piece of the text of a response, as it comes. */
export interface ModelDelta {
  readonly content?: string;
  readonly reasoning?: string;
  readonly refusal?: string;
}

/** Usage of a response that tells none. */
export const NO_USAGE: Usage = {
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cost_usd: null,
};
