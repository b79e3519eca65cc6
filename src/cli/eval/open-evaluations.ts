import { loadProject } from '../../config/project.ts';
import { createServiceClient } from '../../service-client/service-client.ts';
import { type Installation, openInstallation } from '../installation.ts';
import { findKey } from '../service-key.ts';
import { createStore } from './create-store.ts';
import { createLocalEvaluations, type EvaluationsReader } from './local-evaluations.ts';

/** Evaluations as the sub-commands use them: those of a service, or of the database of this directory. */
export interface Evaluations extends AsyncDisposable {
  readonly client: EvaluationsReader;
  /** Its address; undefined for the database of this directory. */
  readonly service: string | undefined;
}

export interface PlaceOptions {
  readonly service?: string;
}

/** @throws UsageError where a service needs a key that there is not. Closed by disposing of it. */
export async function openEvaluations({ service }: PlaceOptions): Promise<Evaluations> {
  if (service !== undefined) {
    const client = createServiceClient({ baseUrl: service, apiKey: findKey(await loadProject(), service) });
    return { client: client.evaluations, service, [Symbol.asyncDispose]: async () => {} };
  }
  const installation = await openInstallation();
  return { ...evaluationsOf(installation), [Symbol.asyncDispose]: () => installation[Symbol.asyncDispose]() };
}

/** Those of an installation that is open already; whoever opened it closes it. */
export function evaluationsOf(installation: Installation): Pick<Evaluations, 'client' | 'service'> {
  return { client: createLocalEvaluations(createStore(installation)), service: undefined };
}

/** The rest of a command that is about the same place. */
export function placeWords({ service }: Pick<Evaluations, 'service'>): string {
  return service === undefined ? '' : ` --service ${service}`;
}
