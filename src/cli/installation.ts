import type { Accounts } from '../accounts/accounts.ts';
import { createAccounts } from '../accounts/database-accounts.ts';
import { createCatalogue } from '../client/catalogue.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import { knownSecrets } from '../config/known-secrets.ts';
import { loadProject, type Project } from '../config/project.ts';
import type { Database } from '../database/database.ts';
import { openDatabase } from '../database/open-database.ts';
import { createModels, type Models } from '../model/create-model.ts';
import { openQueue } from '../queue/open-queue.ts';
import type { RunQueue } from '../queue/run-queue.ts';
import { createRedactor, type Redactor } from '../redaction/redactor.ts';
import { createDefaultTraining, type DefaultTrainingOptions } from '../run-service/default-training.ts';
import { createTraceStore } from '../trace/database-store.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { createImitationModels } from '../training/imitation/imitation-models.ts';
import type { Training } from '../training/training.ts';

/** The project of the working directory and the parts that use its database. */
export interface Installation extends Project, AsyncDisposable {
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly accounts: Accounts;
  readonly models: Models;
  readonly training: Training;
  /** Knows the secrets of the project: for logs and spans, whether traces are stored without them or not. */
  readonly redactor: Redactor;
}

/**
 * Opens the project of the working directory; its database is made where there is none. Closed by disposing of it.
 * A port of the command line moves the pages with it, unless their address was named.
 */
export async function openInstallation(options: { readonly port?: number } = {}): Promise<Installation> {
  const project = withPort(await loadProject(), options.port);
  const { settings } = project;
  const redactor = createRedactor(knownSecrets(project, process.env));
  const database = await openDatabase(settings.databaseUrl);
  const queue = await openQueue(settings.queueUrl, database).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  const store = createTraceStore(database, { appUrl: settings.appUrl, redactor: settings.redact && redactor });
  const models = createModels({ ...settings.models, served: createImitationModels(database) });
  return {
    ...project,
    database,
    store,
    queue,
    accounts: createAccounts(database),
    models,
    training: createDefaultTraining({
      ...{ database, store, queue, models, redactor, catalogue: catalogueOnce(project.environments) },
      ...{ directory: project.directory, appUrl: settings.appUrl, trainers: settings.trainers },
      gateways: settings.models.gateways ?? [],
    }),
    redactor,
    async [Symbol.asyncDispose]() {
      await queue.close();
      await database.close();
    },
  };
}

function withPort(project: Project, port: number | undefined): Project {
  if (port === undefined) return project;
  const { settings } = project;
  const appUrl = settings.isAppUrlNamed ? settings.appUrl : `http://127.0.0.1:${port}`;
  return { ...project, settings: { ...settings, appUrl, ports: { ...settings.ports, runService: port } } };
}

/** For a process that has no catalogue: environments are started for one question, and ended. */
function catalogueOnce(environments: ReadonlyMap<string, EnvironmentTarget>): DefaultTrainingOptions['catalogue'] {
  return {
    async declaredTasks(environment, scenario) {
      const catalogue = createCatalogue(environments);
      try {
        return await catalogue.declaredTasks(environment, scenario);
      } finally {
        await catalogue.close();
      }
    },
  };
}
