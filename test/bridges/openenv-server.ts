import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { type OpenEnvServerOptions, startOpenEnvServer } from '../../src/bridges/openenv/start.ts';
import { openDatabase } from '../../src/database/open-database.ts';
import { createModels } from '../../src/model/create-model.ts';
import { createTraceStore } from '../../src/trace/database-store.ts';
import { COUNTER } from '../run-service/service.ts';
import { connectOpenEnv } from './openenv-client.ts';

/** An OpenEnv server of the counter on a free port of loopback, until the test ends. */
export async function serveOpenEnv(options: Partial<OpenEnvServerOptions> = {}) {
  const database = options.database ?? (await openDatabase('sqlite::memory:'));
  const store = options.store ?? createTraceStore(database, { appUrl: 'https://app.example' });
  const server = await startOpenEnvServer({
    environment: ['counter', COUNTER],
    scenario: options.environment === undefined ? 'count_to' : undefined,
    host: '127.0.0.1',
    port: 0,
    directory: '/nonexistent',
    models: createModels({}),
    logger: pino({ level: 'silent' }),
    shutdownGraceMs: 2_000,
    ...options,
    database,
    store,
  });
  onTestFinished(async () => {
    await server.close();
    if (options.database === undefined) await database.close();
  });
  const traces = async () => {
    const rows = await database.kysely.selectFrom('traces').select('trace_id').execute();
    return await Promise.all(rows.map(async ({ trace_id }) => await store.trace(trace_id)));
  };
  const connect = (path?: string) => connectOpenEnv(server.url, path);
  return { server, database, store, traces, connect };
}
