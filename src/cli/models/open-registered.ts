import { loadProject } from '../../config/project.ts';
import { registeredModelInputSchema } from '../../contract/model.ts';
import { RegisteredModels } from '../../model/registered-models.ts';
import type { RegisteredModelsClient } from '../../service-client/models-client.ts';
import { createServiceClient } from '../../service-client/service-client.ts';
import { LOCAL } from '../eval/local-evaluations.ts';
import { UsageError } from '../failure.ts';
import { openInstallation } from '../installation.ts';
import { findKey } from '../service-key.ts';

/** Registered models of a service, or of the database of this directory. */
export interface RegisteredPlace {
  readonly service?: string;
  readonly json?: boolean;
}

export interface OpenedRegistered extends AsyncDisposable {
  readonly registered: RegisteredModelsClient;
}

/** @throws UsageError where a service needs a key that there is not. Closed by disposing of it. */
export async function openRegistered({ service }: RegisteredPlace): Promise<OpenedRegistered> {
  if (service !== undefined) {
    const client = createServiceClient({ baseUrl: service, apiKey: findKey(await loadProject(), service) });
    return { registered: client.models.registered, [Symbol.asyncDispose]: async () => {} };
  }
  const installation = await openInstallation();
  return {
    registered: toClient(new RegisteredModels(installation.database)),
    [Symbol.asyncDispose]: () => installation[Symbol.asyncDispose](),
  };
}

/** As a client of a service would have them. */
function toClient(registered: RegisteredModels): RegisteredModelsClient {
  return {
    list: async () => ({ object: 'list', data: [...(await registered.list(LOCAL))] }),
    get: (name) => registered.get(LOCAL, name),
    add: async (model) => {
      const parsed = registeredModelInputSchema.safeParse(model);
      if (parsed.success) return await registered.add(LOCAL, parsed.data);
      const [issue] = parsed.error.issues;
      throw new UsageError(`${issue?.path.join('.')} has to be ${issue?.message}.`);
    },
    change: (name, patch) => registered.change(LOCAL, name, patch),
    remove: (name) => registered.remove(LOCAL, name),
  };
}
