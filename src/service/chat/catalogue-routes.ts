import { scenarioListSchema } from '../../contract/scenario.ts';
import { modelListSchema } from '../../contract/service/run.ts';
import type { Models } from '../../models/gateway/create-model.ts';
import { listModels } from '../../store/models/listed-models.ts';
import type { RegisteredModels } from '../../store/models/registered-models.ts';
import { accountOf } from '../../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../../support/http/api/route.ts';
import type { Scenarios } from './scenarios.ts';

/** `GET /scenarios` and `GET /v1/models`: the scenarios and models that a session can have. */
export function createCatalogueRoutes(
  scenarios: Scenarios,
  models: Models,
  registered: RegisteredModels,
  model: string,
): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/scenarios',
      summary: 'The scenarios, with the schemas of their arguments',
      access: 'key-or-browser',
      response: scenarioListSchema,
      handle: async () => ({ body: { scenarios: await scenarios.list() } }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/models',
      summary: 'The registered models, the reference models, and those of the gateway',
      access: 'key-or-browser',
      response: modelListSchema,
      async handle({ signal, caller }) {
        const { data } = await listModels(models, registered, accountOf(caller), signal);
        if (data.some(({ id }) => id === model)) return { body: { object: 'list', data } };
        // If the gateway does not answer, the list still has the default model of this server.
        const own = { id: model, object: 'model', created: 0, owned_by: 'gateway' } as const;
        return { body: { object: 'list', data: [own, ...data] } };
      },
    }),
  ];
}
