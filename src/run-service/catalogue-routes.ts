import type { Catalogue } from '../client/catalogue.ts';
import { ApiError } from '../contract/errors.ts';
import {
  type EnvironmentEntry,
  environmentListSchema,
  environmentToolListSchema,
  modelListSchema,
} from '../contract/run.ts';
import { scenarioListSchema } from '../contract/scenario.ts';
import { accountOf } from '../http/api-keys.ts';
import { toPublicMessage } from '../http/errors.ts';
import { defineRoute, type Route } from '../http/route.ts';
import type { Models } from '../model/create-model.ts';
import { listModels } from '../model/listed-models.ts';
import type { RegisteredModels } from '../model/registered-models.ts';

/** `GET /v1/environments`, its scenarios and tools, and `GET /v1/models`: what a run can be made of. */
export function createCatalogueRoutes(
  catalogue: Catalogue,
  models: Models,
  registered: RegisteredModels,
): readonly Route[] {
  const environments = defineRoute({
    method: 'GET',
    path: '/v1/environments',
    summary: 'The environments of this service',
    access: 'key-or-browser',
    response: environmentListSchema,
    handle: async () => ({ body: { object: 'list', data: (await catalogue.list()).map(toPublicEntry) } }),
  });
  const scenarios = defineRoute({
    method: 'GET',
    path: '/v1/environments/:name/scenarios',
    summary: 'The scenarios of an environment, with the schemas of their arguments',
    access: 'key-or-browser',
    response: scenarioListSchema,
    about: { errors: ['env_not_found', 'environment_failed'] },
    handle: async ({ params }) => ({
      body: { scenarios: await withoutField(catalogue.scenarios(params.name ?? '')) },
    }),
  });
  const tools = defineRoute({
    method: 'GET',
    path: '/v1/environments/:name/tools',
    summary: 'The tools that an environment lists to an agent, with the schemas of their arguments',
    access: 'key-or-browser',
    response: environmentToolListSchema,
    about: { errors: ['env_not_found', 'environment_failed'] },
    handle: async ({ params }) => ({ body: { tools: [...(await withoutField(catalogue.tools(params.name ?? '')))] } }),
  });
  const modelList = defineRoute({
    method: 'GET',
    path: '/v1/models',
    summary: 'The registered models, the reference models, and those of the gateways',
    access: 'key-or-browser',
    response: modelListSchema,
    handle: async ({ signal, caller }) => ({ body: await listModels(models, registered, accountOf(caller), signal) }),
  });
  return [environments, scenarios, tools, modelList];
}

function toPublicEntry(entry: EnvironmentEntry): EnvironmentEntry {
  return entry.state === 'ready'
    ? { ...entry, warnings: entry.warnings.map(toPublicMessage) }
    : { ...entry, reason: toPublicMessage(entry.reason) };
}

/** In these routes the name of the environment is a part of the path, not a field. */
async function withoutField<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new ApiError(error.code, error.message, { headers: error.headers, cause: error });
  }
}
