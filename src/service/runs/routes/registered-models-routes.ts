import {
  registeredModelInputSchema,
  registeredModelListSchema,
  registeredModelPatchSchema,
  registeredModelSchema,
} from '../../../contract/model.ts';
import type { RegisteredModels } from '../../../store/models/registered-models.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../../../support/http/api/route.ts';

const access = 'key-or-browser';

/** `/v1/models/registered`: named models. An account sees only its own (contract section 9, "Registry"). */
export function createRegisteredModelsRoutes(registered: RegisteredModels): readonly Route[] {
  return [...createListRoutes(registered), ...createModelRoutes(registered)];
}

function createListRoutes(registered: RegisteredModels): readonly Route[] {
  const list = defineRoute({
    method: 'GET',
    path: '/v1/models/registered',
    summary: 'The registered models, in order of name',
    access,
    response: registeredModelListSchema,
    handle: async ({ caller }) => ({ body: { object: 'list', data: [...(await registered.list(accountOf(caller)))] } }),
  });
  const add = defineRoute({
    method: 'POST',
    path: '/v1/models/registered',
    summary: 'Give a model a name, which every `model` takes from then on, also as `name@step`',
    access,
    request: registeredModelInputSchema,
    response: registeredModelSchema,
    about: { errors: ['missing_required_parameter', 'name_taken', 'model_not_found'] },
    handle: async ({ body, caller }) => ({ body: await registered.add(accountOf(caller), body) }),
  });
  return [list, add];
}

function createModelRoutes(registered: RegisteredModels): readonly Route[] {
  const path = '/v1/models/registered/:name';
  const get = defineRoute({
    method: 'GET',
    path,
    summary: 'A registered model with its checkpoints',
    access,
    response: registeredModelSchema,
    about: { errors: ['model_not_found'] },
    handle: async ({ params, caller }) => ({ body: await registered.get(accountOf(caller), params.name ?? '') }),
  });
  const change = defineRoute({
    method: 'PATCH',
    path,
    summary: 'Change whom the name means: its head, its target, its gateway; checkpoints are added',
    access,
    request: registeredModelPatchSchema,
    response: registeredModelSchema,
    about: { errors: ['model_not_found'] },
    handle: async ({ params, body, caller }) => ({
      body: await registered.change(accountOf(caller), params.name ?? '', body),
    }),
  });
  const remove = defineRoute({
    method: 'DELETE',
    path,
    summary: 'Forget the name; traces and evaluations keep it, with whom it meant',
    access,
    about: { statuses: { 204: 'It is forgotten' }, errors: ['model_not_found'] },
    async handle({ params, caller }) {
      await registered.remove(accountOf(caller), params.name ?? '');
      return { status: 204 };
    },
  });
  return [get, change, remove];
}
