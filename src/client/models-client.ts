import type {
  RegisteredModel,
  RegisteredModelInput,
  RegisteredModelList,
  RegisteredModelPatch,
} from '../contract/model.ts';
import type { ModelList } from '../contract/service/run.ts';
import type { Connection } from './connection.ts';
import type { RequestOptions } from './requests.ts';

/** Registered names of models, with their checkpoints. */
export interface RegisteredModelsClient {
  list(options?: RequestOptions): Promise<RegisteredModelList>;
  get(name: string, options?: RequestOptions): Promise<RegisteredModel>;
  add(model: RegisteredModelInput, options?: RequestOptions): Promise<RegisteredModel>;
  /** Changes the given fields. Checkpoints are added. */
  change(name: string, patch: RegisteredModelPatch, options?: RequestOptions): Promise<RegisteredModel>;
  remove(name: string, options?: RequestOptions): Promise<void>;
}

export interface ModelsClient {
  /** Lists the names that `model` accepts, registered ones first. */
  list(options?: RequestOptions): Promise<ModelList>;
  readonly registered: RegisteredModelsClient;
}

const PATH = '/v1/models/registered';

export function createModelsClient(connection: Connection): ModelsClient {
  const read = <T>(path: string, { signal }: RequestOptions = {}) =>
    connection.json<T>({ method: 'GET', path, isRepeatable: true, signal });
  return {
    list: (options) => read('/v1/models', options),
    registered: {
      list: (options) => read(PATH, options),
      get: (name, options) => read(pathOf(name), options),
      add: (model, { signal } = {}) =>
        connection.json({ method: 'POST', path: PATH, body: model, isRepeatable: false, signal }),
      change: (name, patch, { signal } = {}) =>
        connection.json({ method: 'PATCH', path: pathOf(name), body: patch, isRepeatable: true, signal }),
      remove: (name, { signal } = {}) =>
        connection.json({ method: 'DELETE', path: pathOf(name), isRepeatable: false, signal }),
    },
  };
}

function pathOf(name: string): string {
  return `${PATH}/${encodeURIComponent(name)}`;
}
