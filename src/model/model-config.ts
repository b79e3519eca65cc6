import type { ResolvedModel } from '../contract/model.ts';
import type { DialectName } from '../dialects/dialect.ts';
import type { CallGuard } from './call-guard.ts';
import type { ChatModel, ReferenceContext } from './chat-model.ts';
import type { GatewayClient } from './gateway-client.ts';
import type { Fetch } from './gateway-fetch.ts';
import type { Prices } from './prices.ts';
import type { RetryTiming } from './retries.ts';

export const OPENAI_URL = 'https://api.openai.com/v1';

export interface ConfiguredGateway {
  readonly pattern: string;
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  /** Protocols in which it answers below its address. Calls of agents at seats go to it as they are in these. Default: chat completions alone. */
  readonly dialects?: readonly DialectName[] | undefined;
  /** Those of the models that the pattern fits. */
  readonly prices?: Prices | undefined;
  /** Tokens that one response has at most, where a request sets no limit of its own. Used by budgets alone. */
  readonly maxOutputTokens?: number | undefined;
}

/** Names of the models that the harness calls; undefined: none is configured. */
export interface HarnessModels {
  /** Plays simulated users. */
  readonly user?: string | undefined;
  /** Judges, and answers questions of environments. */
  readonly judge?: string | undefined;
}

export interface ModelConfig {
  /** OpenAI's base URL form, with its `/v1`. */
  readonly gatewayUrl?: string | undefined;
  readonly gatewayApiKey?: string | undefined;
  /** In place of an address: any client with `chat.completions.create`. */
  readonly client?: GatewayClient | undefined;
  /** Tried before the gateway above, in order; `*` in a pattern stands for any run of characters. */
  readonly gateways?: readonly ConfiguredGateway[];
  /** Models that the harness calls. */
  readonly harness?: HarnessModels | undefined;
  readonly fetch?: Fetch | undefined;
  /** Models with `proctor/` names that are no reference models: those that were trained here. */
  readonly served?: ServedModels | undefined;
  /** How long a gateway may send nothing, in milliseconds. Default 290,000. */
  readonly idleTimeoutMs?: number | undefined;
  readonly timing?: RetryTiming | undefined;
}

/** Reads `PROCTOR_GATEWAY_URL` and `PROCTOR_GATEWAY_API_KEY`, and OpenAI's own variables where those are not set. */
export function modelConfigFromEnvironment(env: Readonly<Record<string, string | undefined>>): ModelConfig {
  const read = (name: string) => env[name]?.trim() || undefined;
  const openAiKey = read('OPENAI_API_KEY');
  const gatewayUrl = read('PROCTOR_GATEWAY_URL') ?? read('OPENAI_BASE_URL');
  if (gatewayUrl !== undefined) return { gatewayUrl, gatewayApiKey: read('PROCTOR_GATEWAY_API_KEY') ?? openAiKey };
  return openAiKey === undefined ? {} : { gatewayUrl: OPENAI_URL, gatewayApiKey: openAiKey };
}

/** The provider's name of a model, and the key of its gateway (null: by pattern). */
export type ServedBase = Pick<ResolvedModel, 'target' | 'gateway'>;

/** Models that this process plays itself, beside the reference models. */
export interface ServedModels {
  /** By the form of its name alone: whether it is there is seen when it is asked. */
  has(name: string): boolean;
  /** @param createOther makes another model for the same session, such as the one that it falls back on. */
  create(
    name: string,
    context: ReferenceContext,
    createOther: (model: ServedBase, guard?: CallGuard) => ChatModel,
    guard?: CallGuard,
  ): ChatModel;
}
