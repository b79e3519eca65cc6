import { createCatalogue } from '../../client/catalogue.ts';
import { loadProject } from '../../config/project.ts';
import { type TrainingInput, trainingRequestSchema } from '../../contract/training.ts';
import { isTrainingEnd } from '../../contract/training-states.ts';
import { sleep } from '../../runtime/backoff.ts';
import { createServiceClient } from '../../service-client/service-client.ts';
import type { TrainingClient } from '../../service-client/training-client.ts';
import { checkTasks } from '../../tasks/check-tasks.ts';
import { createTasksets } from '../../tasks/find-tasksets.ts';
import { LOCAL } from '../eval/local-evaluations.ts';
import { type Installation, openInstallation } from '../installation.ts';
import { findKey } from '../service-key.ts';

export interface PlaceOptions {
  readonly service?: string;
}

/** Training as the commands use it: that of a service, or of the database of this directory. */
export interface TrainingPlace extends AsyncDisposable {
  readonly client: Pick<TrainingClient, 'create' | 'get' | 'list' | 'events' | 'cancel' | 'providers'>;
  readonly service: string | undefined;
  /** That of this directory; undefined for a service. */
  readonly installation: Installation | undefined;
}

/** @throws UsageError where a service needs a key that there is not. Closed by disposing of it. */
export async function openTraining({ service }: PlaceOptions): Promise<TrainingPlace> {
  if (service !== undefined) {
    const { training } = createServiceClient({ baseUrl: service, apiKey: findKey(await loadProject(), service) });
    return { client: training, service, installation: undefined, [Symbol.asyncDispose]: async () => {} };
  }
  const installation = await openInstallation();
  return {
    client: localClient(installation),
    ...{ service, installation },
    [Symbol.asyncDispose]: () => installation[Symbol.asyncDispose](),
  };
}

/** Between two looks at the events of a job. */
const LOOK_EVERY_MS = 300;
const PAGE = 200;

function localClient(installation: Installation): TrainingPlace['client'] {
  const { jobs, trainers } = installation.training;
  return {
    create: (job, { signal } = {}) => begin(installation, job, signal ?? new AbortController().signal),
    get: (id) => jobs.get(LOCAL, id),
    list: (query) => jobs.list(LOCAL, query),
    cancel: async (id) => {
      await jobs.cancel(LOCAL, id);
      return await jobs.get(LOCAL, id);
    },
    providers: async () => trainers,
    async *events(id, { after = 0, signal } = {}) {
      for (let last = after; ; ) {
        const { status } = await jobs.get(LOCAL, id);
        const events = await jobs.events(LOCAL, id, { after: last, limit: PAGE });
        yield* events;
        last = events.at(-1)?.seq ?? last;
        if (events.length < PAGE && isTrainingEnd(status)) return;
        if (events.length < PAGE) await sleep(LOOK_EVERY_MS, signal);
      }
    },
  };
}

async function begin({ training, environments, directory }: Installation, job: TrainingInput, signal: AbortSignal) {
  const catalogue = createCatalogue(environments);
  try {
    return await training.begin({
      ...{ account: LOCAL, keyId: null, signal },
      request: trainingRequestSchema.parse(job),
      tasksets: createTasksets({ directory, declared: catalogue }),
      checkTasks: (taskset, within) => checkTasks(taskset, catalogue, within),
    });
  } finally {
    await catalogue.close();
  }
}
