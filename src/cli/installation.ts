import type { Accounts } from '../accounts/accounts.ts';
import { createAccounts } from '../accounts/database-accounts.ts';
import { loadProject, type Project } from '../config/project.ts';
import type { Database } from '../database/database.ts';
import { openDatabase } from '../database/sqlite.ts';
import { createModels, type Models } from '../model/create-model.ts';
import { createDatabaseQueue } from '../queue/database-queue.ts';
import type { RunQueue } from '../queue/run-queue.ts';
import { createTraceStore } from '../trace/database-store.ts';
import type { TraceStore } from '../trace/trace-store.ts';

/** What every command works with: the project of the working directory and the parts that stand on its database. */
export interface Installation extends Project, AsyncDisposable {
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly accounts: Accounts;
  readonly models: Models;
}

/**
 * Opens the project of the working directory; its database is made where there is none. Closed by disposing of it.
 * A port of the command line moves the pages with it, unless their address was named.
 */
export async function openInstallation(options: { readonly port?: number } = {}): Promise<Installation> {
  const project = withPort(await loadProject(), options.port);
  const { settings } = project;
  const database = await openDatabase(settings.databaseUrl);
  return {
    ...project,
    database,
    store: createTraceStore(database, { appUrl: settings.appUrl }),
    queue: createDatabaseQueue(database),
    accounts: createAccounts(database),
    models: createModels(settings.models),
    [Symbol.asyncDispose]: () => database.close(),
  };
}

function withPort(project: Project, port: number | undefined): Project {
  if (port === undefined) return project;
  const { settings } = project;
  const appUrl = settings.isAppUrlNamed ? settings.appUrl : `http://127.0.0.1:${port}`;
  return { ...project, settings: { ...settings, appUrl, ports: { ...settings.ports, runService: port } } };
}
