import type { RegisteredModel } from '../../contract/model.ts';
import type { ModelList } from '../../contract/service/run.ts';
import type { Models } from '../../models/gateway/create-model.ts';
import type { RegisteredModels } from './registered-models.ts';

/**
 * All values of `model` that an account may use: its registered models, then the reference models and those of the
 * gateways.
 */
export async function listModels(
  models: Models,
  registered: RegisteredModels,
  account: string,
  signal: AbortSignal,
): Promise<ModelList> {
  const own = (await registered.list(account)).map(toListed);
  const names = new Set(own.map(({ id }) => id));
  const { data } = await models.list(signal);
  return { object: 'list', data: [...own, ...data.filter(({ id }) => !names.has(id))] };
}

function toListed({ name, created_at: at }: RegisteredModel): ModelList['data'][number] {
  return { id: name, object: 'model', created: Math.floor(Date.parse(at) / 1_000), owned_by: 'registered' };
}
