import type { Catalogue } from '../client/catalogue.ts';
import { ApiError } from '../contract/errors.ts';
import { environmentListSchema, modelListSchema } from '../contract/run.ts';
import { scenarioListSchema } from '../contract/scenario.ts';
import { defineRoute, type Route } from '../http/route.ts';
import type { Models } from '../model/create-model.ts';

/** `GET /v1/environments`, `GET /v1/environments/{name}/scenarios` and `GET /v1/models`: what a run can be made of. */
export function createCatalogueRoutes(catalogue: Catalogue, models: Models): readonly Route[] {
  const environments = defineRoute({
    method: 'GET',
    path: '/v1/environments',
    summary: 'The environments of this service',
    access: 'key-or-browser',
    response: environmentListSchema,
    handle: async () => ({ body: { object: 'list', data: await catalogue.list() } }),
  });
  const scenarios = defineRoute({
    method: 'GET',
    path: '/v1/environments/:name/scenarios',
    summary: 'The scenarios of an environment, with the schemas of their arguments',
    access: 'key-or-browser',
    response: scenarioListSchema,
    about: { errors: ['env_not_found', 'environment_failed'] },
    async handle({ params }) {
      try {
        return { body: { scenarios: await catalogue.scenarios(params.name ?? '') } };
      } catch (error) {
        // Here the name is a part of the path, not a field.
        if (!(error instanceof ApiError)) throw error;
        throw new ApiError(error.code, error.message, { headers: error.headers, cause: error });
      }
    },
  });
  const modelList = defineRoute({
    method: 'GET',
    path: '/v1/models',
    summary: 'The models of the gateways, and the reference models',
    access: 'key-or-browser',
    response: modelListSchema,
    handle: async ({ signal }) => ({ body: await models.list(signal) }),
  });
  return [environments, scenarios, modelList];
}
