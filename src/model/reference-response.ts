import type { ToolCall } from '../contract/chat.ts';
import type { ModelDelta, ModelResponse } from './chat-model.ts';
import { NO_USAGE } from './gateway-usage.ts';

/** A response that makes one call. */
export function callWith(call: ToolCall): ModelResponse {
  return respondWith(null, [call]);
}

/** A response that ends the turn. */
export function answerWith(text: string, onDelta?: (delta: ModelDelta) => void): ModelResponse {
  if (text !== '') onDelta?.({ content: text });
  return respondWith(text, []);
}

function respondWith(content: string | null, calls: ToolCall[]): ModelResponse {
  return {
    message: { role: 'assistant', content, reasoning: null, tool_calls: calls },
    finishReason: calls.length > 0 ? 'tool_calls' : 'stop',
    usage: NO_USAGE,
    retries: 0,
    tokenIds: null,
    logprobs: null,
  };
}
