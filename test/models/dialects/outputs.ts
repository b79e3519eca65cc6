import type { ToolCall } from '../../../src/contract/chat.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import type { ModelOutput } from '../../../src/models/dialects/model-output.ts';

export const USAGE = {
  prompt_tokens: 120,
  completion_tokens: 30,
  total_tokens: 150,
  cached_tokens: 100,
  reasoning_tokens: 10,
  cost_usd: null,
};

/** A response of a model. */
export function output(said: {
  readonly content?: string | null;
  readonly reasoning?: string;
  readonly refusal?: string;
  readonly calls?: readonly ToolCall[];
  readonly finishReason?: ModelOutput['finishReason'];
}): ModelOutput {
  const { content = null, reasoning = null, refusal, calls = [], finishReason } = said;
  return {
    message: {
      role: 'assistant',
      content: content ?? (calls.length > 0 ? null : ''),
      reasoning,
      ...(refusal === undefined ? {} : { refusal }),
      tool_calls: [...calls],
    },
    finishReason: finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
    usage: USAGE,
    tokenIds: null,
    logprobs: null,
  };
}

export function call(id: string, name: string, args: JsonObject, raw: string | null = null): ToolCall {
  return { id, name, arguments: args, raw_arguments: raw };
}
