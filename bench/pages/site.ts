import { pino } from 'pino';
import { type Browser, chromium } from 'playwright-core';
import { createModels } from '../../src/models/gateway/create-model.ts';
import { startRunService } from '../../src/service/runs/start.ts';
import { createAccounts } from '../../src/store/accounts/database-accounts.ts';
import type { Database } from '../../src/store/database/database.ts';
import { createDatabaseQueue } from '../../src/store/queue/database-queue.ts';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import { createPages } from '../../src/web/pages.ts';

/** The run service with its pages and without a worker. `close` closes the database too. */
export async function openSite(database: Database) {
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1' });
  const accounts = createAccounts(database);
  const service = await startRunService({
    database,
    store,
    accounts,
    queue: createDatabaseQueue(database),
    environments: new Map(),
    models: createModels({}),
    host: '127.0.0.1',
    port: 0,
    appUrl: 'http://127.0.0.1',
    logger: pino({ level: 'silent' }),
    pages: createPages({ store, accounts }),
    worker: false,
  });
  return {
    url: service.url,
    store,
    /** Signs a browser in, once. */
    token: await accounts.createSignInToken('local'),
    async close() {
      await service.close();
      await database.close();
    },
  };
}

export async function launchChromium(): Promise<Browser> {
  const executablePath = process.env.PROCTOR_CHROMIUM ?? '/usr/bin/chromium';
  return await chromium.launch({ executablePath, args: ['--no-sandbox'] });
}
