import type { Usage } from '../contract/chat.ts';
import { isJsonObject } from '../contract/json.ts';
import type { ModelGateway } from '../model/create-model.ts';
import { hasTokens, type Prices, priceOf } from '../model/prices.ts';
import { estimatePromptTokens, estimateTokens } from '../model/token-estimate.ts';
import type { Amount } from './budget.ts';

/** Tokens that one response has at most, where neither the request nor the gateway's configuration says so. Our choice. */
const DEFAULT_MAX_OUTPUT_TOKENS = 16_384;

/** What the calls of one session may cost, and what they did cost. It learns from each response. */
export class CallCost {
  readonly #gateway: Pick<ModelGateway, 'prices' | 'maxOutputTokens'>;
  /** The last response: what its request was, by the gateway's count and by the estimate. */
  #last: { readonly counted: number; readonly estimated: number } | undefined;

  constructor(gateway: Pick<ModelGateway, 'prices' | 'maxOutputTokens'>) {
    this.#gateway = gateway;
  }

  /** The most that a request may cost. `maxTokens` has to be sent with it; null where it says so itself. */
  worst(body: object): { readonly amount: Amount; readonly maxTokens: number | null } {
    const asked = outputLimitOf(body);
    const most = asked ?? this.#gateway.maxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS;
    const amount = this.#amount(this.#promptTokens(body), most * choicesOf(body));
    return { amount, maxTokens: asked === undefined ? most : null };
  }

  /** @param characters of what the model said, where the gateway does not count. */
  spent(body: object, usage: Usage, characters: number): Amount {
    if (!hasTokens(usage)) return this.cut(body, characters);
    this.#last = { counted: usage.prompt_tokens, estimated: estimatePromptTokens(body) };
    const tokens = Math.max(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
    return { tokens, usd: usage.cost_usd ?? 0 };
  }

  /** Of a response that was not told to its end: nobody said what it cost. */
  cut(body: object, characters: number): Amount {
    return this.#amount(this.#promptTokens(body), estimateTokens(characters));
  }

  /** The prompt is that of the request before and what was added: its estimate counts for that alone. */
  #promptTokens(body: object): number {
    const estimated = estimatePromptTokens(body);
    return this.#last === undefined ? estimated : this.#last.counted + Math.max(0, estimated - this.#last.estimated);
  }

  #amount(prompt: number, completion: number): Amount {
    const { prices } = this.#gateway;
    return { tokens: prompt + completion, usd: prices === undefined ? 0 : dearest(prices, prompt, completion) };
  }
}

/** A gateway may price what it puts into its cache above what it has there: the dearer one counts. */
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

/** The gateway answers, and bills, several times where it is asked for several choices. */
function choicesOf(body: object): number {
  if (!isJsonObject(body)) return 1;
  return typeof body.n === 'number' && body.n > 1 ? body.n : 1;
}
