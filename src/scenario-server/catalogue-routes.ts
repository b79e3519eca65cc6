import { modelListSchema } from '../contract/run.ts';
import { scenarioListSchema } from '../contract/scenario.ts';
import { accountOf } from '../http/api-keys.ts';
import { defineRoute, type Route } from '../http/route.ts';
import type { Models } from '../model/create-model.ts';
import { listModels } from '../model/listed-models.ts';
import type { RegisteredModels } from '../model/registered-models.ts';
import type { Scenarios } from './scenarios.ts';

/** `GET /scenarios` and `GET /v1/models`: what a session can be made of. */
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
        // A gateway that does not answer still has the model that this server uses.
        const own = { id: model, object: 'model', created: 0, owned_by: 'gateway' } as const;
        return { body: { object: 'list', data: [own, ...data] } };
      },
    }),
  ];
}
