import { modelListSchema } from '../contract/run.ts';
import { scenarioListSchema } from '../contract/scenario.ts';
import { defineRoute, type Route } from '../http/route.ts';
import type { Models } from '../model/create-model.ts';
import type { Scenarios } from './scenarios.ts';

/** `GET /scenarios` and `GET /v1/models`: what a session can be made of. */
export function createCatalogueRoutes(scenarios: Scenarios, models: Models, model: string): readonly Route[] {
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
      summary: 'The models of the gateway, and the reference models',
      access: 'key-or-browser',
      response: modelListSchema,
      async handle({ signal }) {
        const { data } = await models.list(signal);
        if (data.some(({ id }) => id === model)) return { body: { object: 'list', data } };
        // A gateway that does not answer still has the model that this server uses.
        const own = { id: model, object: 'model', created: 0, owned_by: 'gateway' } as const;
        return { body: { object: 'list', data: [own, ...data] } };
      },
    }),
  ];
}
