import type { Usage } from '../../../contract/chat.ts';
import { isJsonObject } from '../../../contract/json.ts';
import type { ModelGateway } from '../../../models/gateway/create-model.ts';
import { hasTokens, type Prices, priceOf } from '../../../models/gateway/prices.ts';
import { estimatePromptTokens, estimateTokens } from '../../../models/gateway/token-estimate.ts';
import type { Amount } from './budget.ts';

/** Most tokens of one response, if neither the request nor the gateway's configuration limits them. */
const DEFAULT_MAX_OUTPUT_TOKENS = 16_384;

/** Estimates the cost of one session's calls, before and after each call. It learns from each response. */
export class CallCost {
  readonly #gateway: Pick<ModelGateway, 'prices' | 'maxOutputTokens'>;
  /** Prompt tokens of the last request, counted by the gateway and estimated. */
  #last: { readonly counted: number; readonly estimated: number } | undefined;

  constructor(gateway: Pick<ModelGateway, 'prices' | 'maxOutputTokens'>) {
    this.#gateway = gateway;
  }

  /** The most that a request may cost. `maxTokens` must be sent with it; null if the request has its own limit. */
  worst(body: object): { readonly amount: Amount; readonly maxTokens: number | null } {
    const asked = outputLimitOf(body);
    const most = asked ?? this.#gateway.maxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS;
    const amount = this.#amount(this.#promptTokens(body), most * choicesOf(body));
    return { amount, maxTokens: asked === undefined ? most : null };
  }

  /** The cost of a response. @param characters of the model's output, for a gateway that does not count tokens. */
  spent(body: object, usage: Usage, characters: number): Amount {
    if (!hasTokens(usage)) return this.cut(body, characters);
    this.#last = { counted: usage.prompt_tokens, estimated: estimatePromptTokens(body) };
    const tokens = Math.max(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
    return { tokens, usd: usage.cost_usd ?? 0 };
  }

  /** The cost of an incomplete response, for which no usage was reported. */
  cut(body: object, characters: number): Amount {
    return this.#amount(this.#promptTokens(body), estimateTokens(characters));
  }

  /** Tokens of the prompt: the counted ones of the last request, and an estimate of what was added. */
  #promptTokens(body: object): number {
    const estimated = estimatePromptTokens(body);
    return this.#last === undefined ? estimated : this.#last.counted + Math.max(0, estimated - this.#last.estimated);
  }

  #amount(prompt: number, completion: number): Amount {
    const { prices } = this.#gateway;
    return { tokens: prompt + completion, usd: prices === undefined ? 0 : dearest(prices, prompt, completion) };
  }
}

/** The highest price of a call, because writing to a cache may cost more than reading from it. */
function dearest(prices: Prices, prompt: number, completion: number): number {
  return priceOf(
    { prompt, completion },
    { ...prices, input: Math.max(prices.input, prices.cached ?? 0), cached: undefined },
  );
}

function outputLimitOf(body: object): number | undefined {
  if (!isJsonObject(body)) return undefined;
  return [body.max_completion_tokens, body.max_tokens].find(
    (limit): limit is number => typeof limit === 'number' && limit > 0,
  );
}

/** Number of requested choices, each of which the gateway bills. */
function choicesOf(body: object): number {
  if (!isJsonObject(body)) return 1;
  return typeof body.n === 'number' && body.n > 1 ? body.n : 1;
}
