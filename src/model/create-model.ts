import { ApiError, BoundaryError } from '../contract/errors.ts';
import type { ModelList } from '../contract/run.ts';
import { preview } from '../schema/json-schema.ts';
import type { ChatModel, ReferenceContext } from './chat-model.ts';
import { createGatewayModel } from './gateway.ts';
import { createGatewayClient } from './gateway-client.ts';
import type { Fetch } from './gateway-fetch.ts';
import { type ModelConfig, OPENAI_URL } from './model-config.ts';
import { createModelList, type ListedGateway } from './model-list.ts';
import { checkReferenceModel, createReferenceModel, isReferenceModel } from './reference-models.ts';

export interface Models {
  /** A model for one session. @throws BoundaryError boundary `model`, code `model_not_found`, as `check` does. */
  create(name: string, context: ReferenceContext): ChatModel;
  /** @throws ApiError model_not_found for an unknown `proctor/` name, and for any other where no gateway would have it. */
  check(name: string): void;
  /** Models of the gateways, cached for a minute, and the reference models. A gateway that does not answer lists none. */
  list(signal: AbortSignal): Promise<ModelList>;
}

/** @throws Error for a gateway whose URL is none. Holds nothing open. */
export function createModels(config: ModelConfig): Models {
  const gateways = toGateways(config);
  const check = (name: string) => {
    if (isReferenceModel(name)) return checkReferenceModel(name);
    if (gateways.some((gateway) => gateway.matches(name))) return;
    const message = `No gateway is configured for model ${preview(name)}: set PROCTOR_GATEWAY_URL (and PROCTOR_GATEWAY_API_KEY), or use a reference model such as proctor/oracle`;
    throw new ApiError('model_not_found', message, { param: 'model' });
  };
  return {
    check,
    create: (name, context) => {
      try {
        check(name);
      } catch (thrown) {
        if (!(thrown instanceof ApiError)) throw thrown;
        throw new BoundaryError('model', thrown.code, thrown.message, { cause: thrown });
      }
      if (isReferenceModel(name)) return createReferenceModel(name, context);
      const gateway = gateways.find((candidate) => candidate.matches(name));
      if (gateway === undefined) throw new TypeError(`No gateway for ${name}`);
      return createGatewayModel(name, {
        client: gateway.client,
        keys: gateway.keys,
        idleTimeoutMs: config.idleTimeoutMs,
        timing: config.timing,
      });
    },
    list: createModelList(gateways, config.timing?.now),
  };
}

interface Gateway extends ListedGateway {
  readonly keys: readonly string[];
}

function toGateways(config: ModelConfig): readonly Gateway[] {
  const gateways = (config.gateways ?? []).map(({ pattern, baseUrl, apiKey }) => {
    const expression = toExpression(pattern);
    return toGateway(baseUrl, apiKey, config.fetch, (name) => expression.test(name));
  });
  const matches = () => true;
  if (config.client !== undefined) return [...gateways, { client: config.client, keys: [], matches }];
  if (config.gatewayUrl === undefined) return gateways;
  return [...gateways, toGateway(config.gatewayUrl, config.gatewayApiKey, config.fetch, matches)];
}

function toGateway(
  baseUrl: string,
  apiKey: string | undefined,
  fetch: Fetch | undefined,
  matches: (name: string) => boolean,
): Gateway {
  const protocol = URL.canParse(baseUrl) ? new URL(baseUrl).protocol : '';
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new Error(
      `The URL of a gateway (PROCTOR_GATEWAY_URL) has to be an http or https base URL such as ${OPENAI_URL}, not ${JSON.stringify(baseUrl)}`,
    );
  }
  const client = createGatewayClient({ baseUrl, apiKey, fetch });
  return { client, keys: apiKey === undefined ? [] : [apiKey], matches };
}

function toExpression(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}
