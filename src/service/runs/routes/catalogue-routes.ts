import { ApiError } from '../../../contract/errors.ts';
import { scenarioListSchema } from '../../../contract/scenario.ts';
import {
  type EnvironmentEntry,
  environmentListSchema,
  environmentToolListSchema,
  modelListSchema,
} from '../../../contract/service/run.ts';
import type { Catalogue } from '../../../environment/client/catalogue.ts';
import type { Models } from '../../../models/gateway/create-model.ts';
import { listModels } from '../../../store/models/listed-models.ts';
import type { RegisteredModels } from '../../../store/models/registered-models.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../../../support/http/api/route.ts';
import { toPublicMessage } from '../../../support/redaction/machine-text.ts';

/** `GET /v1/environments` with scenarios and tools, and `GET /v1/models`: everything that a run can name. */
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

/** Removes the field from an error, since these routes have the environment's name in the path. */
async function withoutField<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new ApiError(error.code, error.message, { headers: error.headers, cause: error });
  }
}
