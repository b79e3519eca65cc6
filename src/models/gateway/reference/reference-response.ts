import type { ToolCall } from '../../../contract/chat.ts';
import type { JsonSchema } from '../../../contract/json.ts';
import { NO_USAGE } from '../../dialects/model-output.ts';
import type { ModelDelta, ModelResponse } from '../chat-model.ts';
import { smallestValue } from './smallest-value.ts';

/** A response that makes one call. */
export function callWith(call: ToolCall): ModelResponse {
  return respondWith(null, [call]);
}

/** A response that makes several calls. */
export function callsWith(calls: readonly ToolCall[]): ModelResponse {
  return respondWith(null, [...calls]);
}

/** A response that ends the turn. */
export function answerWith(text: string, onDelta?: (delta: ModelDelta) => void): ModelResponse {
  if (text !== '') onDelta?.({ content: text });
  return respondWith(text, []);
}

/** The answer of a model without an opinion: an empty text, or the JSON of the schema's smallest value. */
export function leastAnswer(schema: JsonSchema | null): string {
  const value = schema === null ? undefined : smallestValue(schema);
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A response with these calls and this text. */
export function respondWith(content: string | null, calls: ToolCall[]): ModelResponse {
  return {
    message: { role: 'assistant', content, reasoning: null, tool_calls: calls },
    finishReason: calls.length > 0 ? 'tool_calls' : 'stop',
    usage: NO_USAGE,
    retries: 0,
    tokenIds: null,
    logprobs: null,
  };
}
