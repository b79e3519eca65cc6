import { ApiError, BoundaryError } from '../../contract/errors.ts';
import type { ResolvedModel } from '../../contract/model.ts';
import type { ModelList } from '../../contract/service/run.ts';
import { once } from '../../support/runtime/once.ts';
import { preview } from '../../support/schema/json-schema.ts';
import type { AgentGateway, AgentModel, AgentModelOptions } from './agent-call.ts';
import type { CallGuard } from './call-guard.ts';
import type { ChatModel, ReferenceContext } from './chat-model.ts';
import { createGatewayClient, redactingClient } from './gateway-client.ts';
import { type Fetch, redactingFetch } from './gateway-fetch.ts';
import { lazyModel } from './lazy-model.ts';
import {
  type ConfiguredGateway,
  type HarnessModels,
  type ModelConfig,
  OPENAI_URL,
  type ServedModels,
} from './model-config.ts';
import type { ListedGateway } from './model-list.ts';
import type { Prices } from './prices.ts';
import { checkReferenceModel, createReferenceModel, isReferenceModel } from './reference/reference-models.ts';

/** A provider's model name, optionally with its gateway's key (null: chosen by pattern). */
export type AskedModel = string | Pick<ResolvedModel, 'target' | 'gateway'>;

/** Makes models. Every method takes the provider's name; `RegisteredModels.resolve` finds it for a registered name. */
export interface Models {
  /** Makes a model for one session. @throws BoundaryError boundary `model`, code `model_not_found`, as `check` does. */
  create(model: AskedModel, context: ReferenceContext, guard?: CallGuard): ChatModel;
  /**
   * Makes a model for agents at seats: it speaks their protocols, and only the guard retries.
   *
   * @throws ApiError invalid_parameter for a reference model, which has no protocol; model_not_found as `check` does.
   */
  createForAgent(model: AskedModel, guard?: CallGuard): AgentModel;
  /** @throws ApiError model_not_found for an unknown `proctor/` name, or for another name without a gateway. */
  check(model: AskedModel): void;
  /** True if the cost of a call is known in advance: the model has prices, or is a reference model. */
  canPrice(model: AskedModel): boolean;
  /** Models for simulated users and judges. */
  readonly harness: HarnessModels;
  /** The gateway of a model; undefined for a reference model, or if no gateway fits. */
  gatewayOf(model: AskedModel): ModelGateway | undefined;
  /**
   * Models of the gateways, cached for a minute, and the reference models. A gateway that does not answer is skipped.
   */
  list(signal: AbortSignal): Promise<ModelList>;
  /** Adds models that this process plays itself. The models so far stay unchanged. */
  serving(served: ServedModels): Models;
}

/** A gateway, for the code that limits its calls. */
export interface ModelGateway {
  /** Address without credentials. Two patterns with the same address are one gateway. */
  readonly id: string;
  readonly prices: Prices | undefined;
  /** Most tokens of one response; undefined if the configuration does not limit them. */
  readonly maxOutputTokens: number | undefined;
}

/** @throws Error for a gateway with an invalid URL. Holds nothing open. */
export function createModels(config: ModelConfig): Models {
  return modelsOf(config, undefined);
}

function modelsOf(config: ModelConfig, served: ServedModels | undefined): Models {
  const gateways = toGateways(config);
  const find = (asked: AskedModel) => {
    const { target, gateway } = toAsked(asked);
    return gateways.find((each) => (gateway === null ? each.matches(target) : each.pattern === gateway));
  };
  const isReference = (asked: AskedModel) => isReferenceModel(toAsked(asked).target);
  const check = (asked: AskedModel) => {
    const { target, gateway } = toAsked(asked);
    if (served?.has(target)) return;
    if (isReferenceModel(target)) return checkReferenceModel(target);
    if (find(asked) === undefined)
      throw gateway === null ? noGateway(target) : unknownGateway(target, gateway, gateways);
  };
  const list = once(async () => {
    const { createModelList } = await import('./model-list.ts');
    return createModelList(gateways, config.timing?.now);
  });
  const models: Models = {
    check,
    harness: config.harness ?? {},
    createForAgent: (asked, guard) => {
      const name = toAsked(asked).target;
      const gateway = isReferenceModel(name) ? undefined : find(asked);
      if (gateway === undefined) check(asked);
      if (gateway === undefined) throw notForAgents(name);
      const { idleTimeoutMs, timing } = config;
      return agentModel(name, { ...gateway, guard, idleTimeoutMs, timing });
    },
    canPrice: (asked) => isReference(asked) || find(asked)?.prices !== undefined,
    gatewayOf: (asked) => (isReference(asked) ? undefined : find(asked)),
    create: (asked, context, guard) => {
      const name = toAsked(asked).target;
      try {
        check(asked);
      } catch (thrown) {
        if (!(thrown instanceof ApiError)) throw thrown;
        throw new BoundaryError('model', thrown.code, thrown.message, { cause: thrown });
      }
      if (served?.has(name)) {
        return served.create(name, context, (other, given) => models.create(other, context, given), guard);
      }
      if (isReferenceModel(name)) return createReferenceModel(name, context);
      const gateway = find(asked);
      if (gateway === undefined) throw new TypeError(`No gateway for ${name}`);
      const { client, keys, prices } = gateway;
      const { idleTimeoutMs, timing } = config;
      return lazyModel(name, async () => {
        const { createGatewayModel } = await import('./gateway.ts');
        return createGatewayModel(name, { client, keys, prices, guard, idleTimeoutMs, timing });
      });
    },
    list: async (signal) => await (await list.get())(signal),
    serving: (others) => (served === undefined ? modelsOf(config, others) : models),
  };
  return models;
}

/** The code of the protocols is loaded at the first call. */
function agentModel(name: string, options: AgentModelOptions): AgentModel {
  const { address } = options;
  return {
    name,
    speaks: (dialect) => address?.dialects.includes(dialect) === true,
    ask: async (call) => {
      const { createAgentModel } = await import('./agent-model.ts');
      return await createAgentModel(name, options).ask(call);
    },
  };
}

function toAsked(asked: AskedModel): Pick<ResolvedModel, 'target' | 'gateway'> {
  return typeof asked === 'string' ? { target: asked, gateway: null } : asked;
}

function noGateway(name: string): ApiError {
  const message = `No gateway is configured for model ${preview(name)}: set PROCTOR_GATEWAY_URL (and PROCTOR_GATEWAY_API_KEY), or use a reference model such as proctor/oracle`;
  return new ApiError('model_not_found', message, { param: 'model' });
}

/** The error for a gateway that is not in the configuration, which may have changed since the model was registered. */
function unknownGateway(name: string, key: string, gateways: readonly Gateway[]): ApiError {
  const keys = gateways.flatMap(({ pattern }) => (pattern === undefined ? [] : preview(pattern)));
  const known = keys.length === 0 ? 'it has none' : `it has ${keys.join(', ')}`;
  const message = `The model ${preview(name)} is asked of the gateway ${preview(key)}, which is no key of "gateways" in the configuration: ${known}`;
  return new ApiError('model_not_found', message, { param: 'model' });
}

interface Gateway extends ListedGateway, ModelGateway, AgentGateway {
  readonly id: string;
  /** Key of the gateway in the configuration. */
  readonly pattern?: string;
}

function notForAgents(name: string): ApiError {
  const message = `${name} is a reference model, which cannot be asked by an agent of others: name a model of a gateway.`;
  return new ApiError('invalid_parameter', message, { param: 'model' });
}

function toGateways(config: ModelConfig): readonly Gateway[] {
  const fetch = config.redactor === undefined ? config.fetch : redactingFetch(config.redactor, config.fetch);
  const gateways = (config.gateways ?? []).map((gateway) => {
    const expression = toExpression(gateway.pattern);
    return { ...toGateway(gateway, fetch, (name) => expression.test(name)), pattern: gateway.pattern };
  });
  const matches = () => true;
  if (config.client !== undefined) {
    const unknown = { address: undefined, prices: undefined, maxOutputTokens: undefined };
    const { redactor } = config;
    const client = redactor === undefined ? config.client : redactingClient(redactor, config.client);
    const own = { id: 'client', client, keys: [], ...unknown };
    return [...gateways, { ...own, matches }];
  }
  if (config.gatewayUrl === undefined) return gateways;
  return [...gateways, toGateway({ baseUrl: config.gatewayUrl, apiKey: config.gatewayApiKey }, fetch, matches)];
}

function toGateway(
  { baseUrl, apiKey, dialects, prices, maxOutputTokens }: Omit<ConfiguredGateway, 'pattern'>,
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
  const address = { baseUrl: baseUrl.replace(/\/+$/, ''), apiKey, dialects: dialects ?? ['chat'], fetch } as const;
  return { id, client, address, keys: apiKey === undefined ? [] : [apiKey], prices, maxOutputTokens, matches };
}

function toExpression(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}
