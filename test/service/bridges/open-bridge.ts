import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import type { TraceStore } from '../../../src/store/traces/trace-store.ts';

interface BridgeOptions {
  readonly database?: Database;
  readonly store?: TraceStore;
}

/** What every bridge needs on a free port of loopback, until the test ends; `begin` starts it with this. */
export async function openBridge<Server extends { close(): Promise<void> }>(
  options: BridgeOptions,
  begin: (parts: BridgeParts) => Promise<Server>,
) {
  const parts = await createParts(options);
  const { database, store } = parts;
  const server = await begin(parts);
  onTestFinished(async () => {
    await server.close();
    if (options.database === undefined) await database.close();
  });
  const traces = async () => {
    const rows = await database.kysely.selectFrom('traces').select('trace_id').execute();
    return await Promise.all(rows.map(async ({ trace_id }) => await store.trace(trace_id)));
  };
  return { server, database, store, traces };
}

type BridgeParts = Awaited<ReturnType<typeof createParts>>;

async function createParts(options: BridgeOptions) {
  const database = options.database ?? (await openDatabase('sqlite::memory:'));
  return {
    database,
    store: options.store ?? createTraceStore(database, { appUrl: 'https://app.example' }),
    host: '127.0.0.1',
    port: 0,
    directory: '/nonexistent',
    models: createModels({}),
    logger: pino({ level: 'silent' }),
    shutdownGraceMs: 2_000,
  };
}
