import type { Catalogue } from '../../environment/client/catalogue.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import { createModels, type Models } from '../../models/gateway/create-model.ts';
import type { GatewayClient } from '../../models/gateway/gateway-client.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import { createAccounts } from '../../store/accounts/database-accounts.ts';
import type { Database } from '../../store/database/database.ts';
import { openDatabase } from '../../store/database/open-database.ts';
import { openQueue } from '../../store/queue/open-queue.ts';
import type { RunQueue } from '../../store/queue/run-queue.ts';
import { createTraceStore } from '../../store/traces/database-store.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';
import { createRedactor, type Redactor, type Secret } from '../../support/redaction/redactor.ts';
import { once } from '../../support/runtime/once.ts';
import { createImitationModels } from '../../training/imitation/imitation-models.ts';
import type { Training } from '../../training/training.ts';
import { knownSecrets, operatorKeys, operatorSecrets } from '../config/known-secrets.ts';
import { loadProject, type Project } from '../config/project.ts';
import type { DefaultTrainingOptions } from './default-training.ts';

/** A project with its open database, store, queue and models. */
export interface Installation extends Project, AsyncDisposable {
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly accounts: Accounts;
  readonly models: Models;
  /** Jobs and trainers, created on first use. @throws Error with the name of a trainer whose settings are wrong. */
  training(): Promise<Training>;
  /** Keys of gateways, trainers and the service, which no process of an environment may hold. */
  readonly operatorKeys: readonly Secret[];
  /** Redacts the secrets of the project from logs and spans, even if traces are stored unredacted. */
  readonly redactor: Redactor;
}

export interface InstallationOptions {
  /** Project directory. Default: the working directory. */
  readonly directory?: string | undefined;
  /** Port of the server. It is also the port of the pages, unless their address was set. */
  readonly port?: number | undefined;
  /** Environments that replace those of the project. */
  readonly environments?: ReadonlyMap<string, EnvironmentTarget> | undefined;
  /** Client that replaces the gateways of the project. */
  readonly client?: GatewayClient | undefined;
  /** Database that replaces the one of the project. */
  readonly databaseUrl?: string | undefined;
}

/** Opens a project, and creates its database if there is none. Disposing closes both. */
export async function openInstallation(options: InstallationOptions = {}): Promise<Installation> {
  const project = withOptions(await loadProject(options.directory), options);
  const { settings } = project;
  let knowing = createRedactor(knownSecrets(project, process.env));
  const redactor: Redactor = {
    text: (text) => knowing.text(text),
    json: (value) => knowing.json(value),
    parts: () => knowing.parts(),
  };
  const database = await openDatabase(settings.databaseUrl);
  const queue = await openQueue(settings.queueUrl, database).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  const store = createTraceStore(database, { appUrl: settings.appUrl, redactor: settings.redact && redactor });
  const models = createModels({
    ...settings.models,
    redactor: createRedactor(operatorSecrets(project, process.env), []),
  }).serving(createImitationModels(database));
  const training = once<Training>(async () => {
    const { createDefaultTraining } = await import('./default-training.ts');
    return createDefaultTraining({
      database,
      store,
      queue,
      models,
      redactor,
      catalogue: catalogueOnce(project.environments),
      directory: project.directory,
      appUrl: settings.appUrl,
      trainers: settings.trainers,
      gateways: settings.models.gateways ?? [],
    });
  });
  return {
    ...project,
    database,
    store,
    queue,
    accounts: createAccounts(database),
    models,
    training: training.get,
    operatorKeys: operatorKeys(settings),
    redactor,
    lookAgain: (onChange) =>
      project.lookAgain(() => {
        knowing = createRedactor(knownSecrets(project, process.env));
        onChange?.();
      }),
    async [Symbol.asyncDispose]() {
      await queue.close();
      await database.close();
    },
  };
}

function withOptions(project: Project, { port, environments, client, databaseUrl }: InstallationOptions): Project {
  const { settings } = project;
  const runService = port ?? settings.ports.runService;
  const isMoved = port !== undefined && !settings.isAppUrlNamed;
  const changed = {
    ...settings,
    appUrl: isMoved ? `http://127.0.0.1:${port}` : settings.appUrl,
    ports: { ...settings.ports, runService },
    models: client === undefined ? settings.models : { client, harness: settings.models.harness },
    databaseUrl: databaseUrl ?? settings.databaseUrl,
  };
  if (environments === undefined) return { ...project, settings: changed };
  return { ...project, settings: changed, environments, lookAgain: async () => undefined };
}

/** Catalogue for a process that has none. It starts an environment for each question and ends it. */
function catalogueOnce(environments: ReadonlyMap<string, EnvironmentTarget>): DefaultTrainingOptions['catalogue'] {
  const ask = async <Answer>(question: (catalogue: Catalogue) => Promise<Answer>): Promise<Answer> => {
    const { createCatalogue } = await import('../../environment/client/catalogue.ts');
    const catalogue = createCatalogue(environments);
    try {
      return await question(catalogue);
    } finally {
      await catalogue.close();
    }
  };
  return {
    environments: () => [...environments.keys()],
    declaringScenarios: (environment) => ask((catalogue) => catalogue.declaringScenarios(environment)),
    declaredTasks: (environment, scenario) => ask((catalogue) => catalogue.declaredTasks(environment, scenario)),
    find: (environment, scenario) => ask((catalogue) => catalogue.find(environment, scenario)),
  };
}
