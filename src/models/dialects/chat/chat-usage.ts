import type { Usage } from '../../../contract/chat.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { NO_USAGE } from '../model-output.ts';

/** Converts a gateway's `usage` into the contract's. DeepSeek and Kimi put cached tokens outside of the details. */
export function toUsage(usage: Json | undefined): Usage {
  if (!isJsonObject(usage)) return NO_USAGE;
  const prompt = isJsonObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const completion = isJsonObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  const promptTokens = firstCount(usage.prompt_tokens, usage.input_tokens);
  const completionTokens = firstCount(usage.completion_tokens, usage.output_tokens);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: firstCount(usage.total_tokens, promptTokens + completionTokens),
    cached_tokens: firstCount(prompt.cached_tokens, usage.prompt_cache_hit_tokens, usage.cached_tokens),
    reasoning_tokens: firstCount(completion.reasoning_tokens, usage.reasoning_tokens),
    cost_usd: costOf(usage),
  };
}

function firstCount(...values: readonly (Json | undefined)[]): number {
  const count = values.find((value): value is number => typeof value === 'number' && value >= 0);
  return Math.floor(count ?? 0);
}

/** Cost in US dollars, which OpenRouter and similar gateways report. */
function costOf(usage: JsonObject): number | null {
  return typeof usage.cost === 'number' && usage.cost >= 0 ? usage.cost : null;
}
