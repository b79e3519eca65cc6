import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import type { EnvironmentTarget } from '../../src/environment/client/environment-client.ts';
import { createModels } from '../../src/models/gateway/create-model.ts';
import { startScenarioServer } from '../../src/service/chat/start.ts';
import { startRunService } from '../../src/service/runs/start.ts';
import type { Accounts } from '../../src/store/accounts/accounts.ts';
import { createAccounts } from '../../src/store/accounts/database-accounts.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { createDatabaseQueue } from '../../src/store/queue/database-queue.ts';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import { createPages } from '../../src/web/pages.ts';
import { addMadeUpRuns, type MadeUpRuns } from './made-up-runs.ts';

/** A server with pages. */
export interface ShownServer {
  readonly url: string;
  readonly accounts: Accounts;
}

export interface ShownServers extends AsyncDisposable {
  readonly service: ShownServer;
  readonly scenarios: ShownServer;
  readonly runs: MadeUpRuns;
}

const ROOT = fileURLToPath(new URL('../../environments', import.meta.url));
const COMMON = {
  host: '127.0.0.1',
  port: 0,
  appUrl: 'http://127.0.0.1:8320',
  logger: pino({ level: 'silent' }),
  models: createModels({}),
  model: 'proctor/oracle',
} as const;

/** The run service over the made-up runs, without a worker, and a scenario server with a database of its own. */
export async function startServers(directory: string): Promise<ShownServers> {
  const ends: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const end of ends.toReversed()) await end();
  };
  try {
    return { ...(await start(directory, ends)), [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function start(
  directory: string,
  ends: (() => Promise<void>)[],
): Promise<Omit<ShownServers, keyof AsyncDisposable>> {
  const open = async (name: string) => {
    const database = await openDatabase(`sqlite:${join(directory, `${name}.db`)}`);
    ends.push(() => database.close());
    const store = createTraceStore(database, COMMON);
    return { database, store, accounts: createAccounts(database), queue: createDatabaseQueue(database) };
  };
  const [runParts, chatParts] = [await open('runs'), await open('chats')];
  const keyIds: string[] = [];
  for (const name of ['ci', 'research', 'laptop']) keyIds.push((await runParts.accounts.createKey({ name })).id);
  const runs = await addMadeUpRuns(runParts.database, keyIds);
  const environments = findEnvironments();
  const pages = createPages(runParts);
  const service = await startRunService({ ...COMMON, ...runParts, environments, worker: false, pages });
  ends.push(() => service.close());
  const counter = new Map([...environments].filter(([name]) => name === 'counter'));
  const { appUrl: _, ...alone } = COMMON;
  const scenarios = await startScenarioServer({ ...alone, ...chatParts, environments: counter });
  ends.push(() => scenarios.close());
  return {
    service: { url: service.url, accounts: runParts.accounts },
    scenarios: { url: scenarios.url, accounts: chatParts.accounts },
    runs,
  };
}

function findEnvironments(): ReadonlyMap<string, EnvironmentTarget> {
  const names = readdirSync(ROOT).toSorted();
  return new Map(names.map((name) => [name, { kind: 'module', path: join(ROOT, name, 'environment.ts') }]));
}
