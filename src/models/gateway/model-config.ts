import type { ResolvedModel } from '../../contract/model.ts';
import type { Redactor } from '../../support/redaction/redactor.ts';
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
  /**
   * Protocols that the gateway speaks at its address. Calls of agents in these protocols are passed on unchanged.
   * Default: only chat completions.
   */
  readonly dialects?: readonly DialectName[] | undefined;
  /** Prices of the models that match the pattern. */
  readonly prices?: Prices | undefined;
  /** Most tokens of one response without a limit in its request. Only budgets use it. */
  readonly maxOutputTokens?: number | undefined;
}

/** Names of the models for simulated users and judges; undefined if not configured. */
export interface HarnessModels {
  /** Plays simulated users. */
  readonly user?: string | undefined;
  /** Judges, and answers questions of environments. */
  readonly judge?: string | undefined;
}

export interface ModelConfig {
  /** Base URL in OpenAI's form, with its `/v1`. */
  readonly gatewayUrl?: string | undefined;
  readonly gatewayApiKey?: string | undefined;
  /** Client to use instead of an address: any with `chat.completions.create`. */
  readonly client?: GatewayClient | undefined;
  /** Gateways that are tried in order before the one above. `*` in a pattern matches any characters. */
  readonly gateways?: readonly ConfiguredGateway[];
  /** Models for simulated users and judges. */
  readonly harness?: HarnessModels | undefined;
  readonly fetch?: Fetch | undefined;
  /** Removes known secrets from every request to a gateway. A tool may have returned one. */
  readonly redactor?: Redactor | undefined;
  /** Milliseconds that a gateway may stay silent. Default 290,000. */
  readonly idleTimeoutMs?: number | undefined;
  readonly timing?: RetryTiming | undefined;
}

/** Reads `PROCTOR_GATEWAY_URL` and `PROCTOR_GATEWAY_API_KEY`, or OpenAI's own variables if they are not set. */
export function modelConfigFromEnvironment(env: Readonly<Record<string, string | undefined>>): ModelConfig {
  const read = (name: string) => env[name]?.trim() || undefined;
  const openAiKey = read('OPENAI_API_KEY');
  const gatewayUrl = read('PROCTOR_GATEWAY_URL') ?? read('OPENAI_BASE_URL');
  if (gatewayUrl !== undefined) return { gatewayUrl, gatewayApiKey: read('PROCTOR_GATEWAY_API_KEY') ?? openAiKey };
  return openAiKey === undefined ? {} : { gatewayUrl: OPENAI_URL, gatewayApiKey: openAiKey };
}

/** A provider's model name, and its gateway's key (null: chosen by pattern). */
export type ServedBase = Pick<ResolvedModel, 'target' | 'gateway'>;

/** Models with `proctor/` names that this process plays itself and that are no reference models. */
export interface ServedModels {
  /** True if the name has the right form. Its existence is checked when it is asked. */
  has(name: string): boolean;
  /** @param createOther makes another model for the same session, such as a fallback. */
  create(
    name: string,
    context: ReferenceContext,
    createOther: (model: ServedBase, guard?: CallGuard) => ChatModel,
    guard?: CallGuard,
  ): ChatModel;
}
