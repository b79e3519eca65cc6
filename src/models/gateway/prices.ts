import type { Usage } from '../../contract/chat.ts';
import type { ChatModel } from './chat-model.ts';

/** US dollars per million tokens. */
export interface Prices {
  readonly input: number;
  /** Price of prompt tokens from the gateway's cache. Default: `input`. */
  readonly cached?: number | undefined;
  readonly output: number;
}

const MILLION = 1_000_000;

/** Cost of tokens in US dollars. Cached tokens are part of the prompt. */
export function priceOf(
  {
    prompt,
    cached = 0,
    completion,
  }: { readonly prompt: number; readonly cached?: number; readonly completion: number },
  prices: Prices,
): number {
  const fromCache = Math.min(cached, prompt);
  const input = (prompt - fromCache) * prices.input + fromCache * (prices.cached ?? prices.input);
  return (input + completion * prices.output) / MILLION;
}

/**
 * Adds the cost: the gateway's own value, otherwise by the prices. Null if neither is known or no usage was reported.
 */
export function withCost(usage: Usage, prices: Prices | undefined): Usage {
  if (usage.cost_usd !== null || prices === undefined || !hasTokens(usage)) return usage;
  const { prompt_tokens: prompt, cached_tokens: cached, completion_tokens: completion } = usage;
  return { ...usage, cost_usd: priceOf({ prompt, cached, completion }, prices) };
}

/** False if the gateway reported no usage, because no prompt is empty. */
export function hasTokens(usage: Usage): boolean {
  return usage.prompt_tokens > 0 || usage.completion_tokens > 0;
}

/** A model whose calls cost nothing. */
export function freeOfCost(model: ChatModel): ChatModel {
  return {
    name: model.name,
    respond: async (request) => {
      const response = await model.respond(request);
      return { ...response, usage: { ...response.usage, cost_usd: 0 } };
    },
    ...(model.checkResults && { checkResults: (results) => model.checkResults?.(results) }),
  };
}
