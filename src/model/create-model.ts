import { ApiError, BoundaryError } from '../contract/errors.ts';
import type { ModelList } from '../contract/run.ts';
import { preview } from '../schema/json-schema.ts';
import type { CallGuard } from './call-guard.ts';
import type { ChatModel, ReferenceContext } from './chat-model.ts';
import { createGatewayModel } from './gateway.ts';
import { createGatewayClient } from './gateway-client.ts';
import type { Fetch } from './gateway-fetch.ts';
import { type ConfiguredGateway, type HarnessModels, type ModelConfig, OPENAI_URL } from './model-config.ts';
import { createModelList, type ListedGateway } from './model-list.ts';
import type { Prices } from './prices.ts';
import { checkReferenceModel, createReferenceModel, isReferenceModel } from './reference-models.ts';

export interface Models {
  /** A model for one session. @throws BoundaryError boundary `model`, code `model_not_found`, as `check` does. */
  create(name: string, context: ReferenceContext, guard?: CallGuard): ChatModel;
  /** @throws ApiError model_not_found for an unknown `proctor/` name, and for any other where no gateway would have it. */
  check(name: string): void;
  /** Whether the cost of its calls is known before they are made: it has prices, or is a reference model. */
  canPrice(name: string): boolean;
  /** Models that the harness calls. */
  readonly harness: HarnessModels;
  /** The gateway that is asked for it; undefined for a reference model, and where there is none. */
  gatewayOf(name: string): ModelGateway | undefined;
  /** Models of the gateways, cached for a minute, and the reference models. A gateway that does not answer lists none. */
  list(signal: AbortSignal): Promise<ModelList>;
}

/** A gateway, as whoever watches over its calls needs to know it. */
export interface ModelGateway {
  /** Its address, without credentials: two patterns of one address are one gateway. */
  readonly id: string;
  readonly prices: Prices | undefined;
  /** Tokens that one response has at most; undefined where the configuration does not say. */
  readonly maxOutputTokens: number | undefined;
}

/** @throws Error for a gateway whose URL is none. Holds nothing open. */
export function createModels(config: ModelConfig): Models {
  const gateways = toGateways(config);
  const find = (name: string) => gateways.find((gateway) => gateway.matches(name));
  const check = (name: string) => {
    if (isReferenceModel(name)) return checkReferenceModel(name);
    if (find(name) !== undefined) return;
    const message = `No gateway is configured for model ${preview(name)}: set PROCTOR_GATEWAY_URL (and PROCTOR_GATEWAY_API_KEY), or use a reference model such as proctor/oracle`;
    throw new ApiError('model_not_found', message, { param: 'model' });
  };
  return {
    check,
    harness: config.harness ?? {},
    canPrice: (name) => isReferenceModel(name) || find(name)?.prices !== undefined,
    gatewayOf: (name) => (isReferenceModel(name) ? undefined : find(name)),
    create: (name, context, guard) => {
      try {
        check(name);
      } catch (thrown) {
        if (!(thrown instanceof ApiError)) throw thrown;
        throw new BoundaryError('model', thrown.code, thrown.message, { cause: thrown });
      }
      if (isReferenceModel(name)) return createReferenceModel(name, context);
      const gateway = find(name);
      if (gateway === undefined) throw new TypeError(`No gateway for ${name}`);
      return createGatewayModel(name, {
        client: gateway.client,
        keys: gateway.keys,
        prices: gateway.prices,
        guard,
        idleTimeoutMs: config.idleTimeoutMs,
        timing: config.timing,
      });
    },
    list: createModelList(gateways, config.timing?.now),
  };
}

interface Gateway extends ListedGateway, ModelGateway {
  readonly keys: readonly string[];
}

function toGateways(config: ModelConfig): readonly Gateway[] {
  const { fetch } = config;
  const gateways = (config.gateways ?? []).map((gateway) => {
    const expression = toExpression(gateway.pattern);
    return toGateway(gateway, fetch, (name) => expression.test(name));
  });
  const matches = () => true;
  if (config.client !== undefined) {
    const own = { id: 'client', client: config.client, keys: [], prices: undefined, maxOutputTokens: undefined };
    return [...gateways, { ...own, matches }];
  }
  if (config.gatewayUrl === undefined) return gateways;
  return [...gateways, toGateway({ baseUrl: config.gatewayUrl, apiKey: config.gatewayApiKey }, fetch, matches)];
}

function toGateway(
  { baseUrl, apiKey, prices, maxOutputTokens }: Omit<ConfiguredGateway, 'pattern'>,
  fetch: Fetch | undefined,
  matches: (name: string) => boolean,
): Gateway {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new Error(
      `The URL of a gateway (PROCTOR_GATEWAY_URL) has to be an http or https base URL such as ${OPENAI_URL}, not ${JSON.stringify(baseUrl)}`,
    );
  }
  const client = createGatewayClient({ baseUrl, apiKey, fetch });
  const id = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  return { id, client, keys: apiKey === undefined ? [] : [apiKey], prices, maxOutputTokens, matches };
}

function toExpression(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}
