import { isJsonObject } from '../../contract/json.ts';
import type { ModelList } from '../../contract/service/run.ts';
import type { GatewayClient } from './gateway-client.ts';
import { REFERENCE_MODELS } from './reference/reference-models.ts';

const KEPT_MS = 60_000;
/** Milliseconds for a gateway's list. A page waits for it, so slower gateways are skipped. */
const LIST_TIMEOUT_MS = 5_000;

export interface ListedGateway {
  readonly client: GatewayClient;
  /** True if this gateway serves a model of that name. */
  matches(name: string): boolean;
}

type ListedModel = ModelList['data'][number];

/** The models of all gateways, each name once, after the reference models. */
export function createModelList(
  gateways: readonly ListedGateway[],
  now: () => number = () => Date.now(),
): (signal: AbortSignal) => Promise<ModelList> {
  const kept = new Map<ListedGateway, { readonly models: readonly ListedModel[]; readonly until: number }>();

  const modelsOf = async (gateway: ListedGateway, signal: AbortSignal) => {
    const known = kept.get(gateway);
    if (known !== undefined && known.until > now()) return known.models;
    const models = await fetchModels(gateway, signal);
    if (models.length > 0) kept.set(gateway, { models, until: now() + KEPT_MS });
    return models;
  };

  return async (signal) => {
    const listed = await Promise.all(gateways.map((gateway) => modelsOf(gateway, signal)));
    signal.throwIfAborted();
    const byId = new Map<string, ListedModel>();
    for (const model of [...referenceModels(), ...listed.flat()]) if (!byId.has(model.id)) byId.set(model.id, model);
    return { object: 'list', data: [...byId.values()] };
  };
}

/** The models of a gateway; empty if the gateway or the client cannot list them. */
async function fetchModels(gateway: ListedGateway, signal: AbortSignal): Promise<readonly ListedModel[]> {
  const { models } = gateway.client;
  if (models === undefined) return [];
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIST_TIMEOUT_MS)]);
  try {
    const answer: unknown = await models.list({ signal: limit, timeout: LIST_TIMEOUT_MS, maxRetries: 0 });
    const data: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'data') : undefined;
    if (!Array.isArray(data)) return [];
    return data.flatMap(toListedModel).filter((model) => gateway.matches(model.id));
  } catch {
    // The list is only for choosing. A run on a gateway that is down reports the error.
    return [];
  }
}

function referenceModels(): readonly ListedModel[] {
  return REFERENCE_MODELS.map((id) => ({ id, object: 'model', created: 0, owned_by: 'proctor' }));
}

function toListedModel(model: unknown): ListedModel[] {
  if (!isJsonObject(model) || typeof model.id !== 'string') return [];
  const created = typeof model.created === 'number' ? Math.floor(model.created) : 0;
  const owner = typeof model.owned_by === 'string' ? model.owned_by : 'gateway';
  return [{ id: model.id, object: 'model', created, owned_by: owner }];
}
