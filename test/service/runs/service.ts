import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import Counter from '../../../environments/counter/environment.ts';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { traceSchema } from '../../../src/contract/service/trace.ts';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import type { ChatModel } from '../../../src/models/gateway/chat-model.ts';
import { createModels, type Models } from '../../../src/models/gateway/create-model.ts';
import { type RunService, type RunServiceOptions, startRunService } from '../../../src/service/runs/start.ts';
import type { Accounts } from '../../../src/store/accounts/accounts.ts';
import { createAccounts } from '../../../src/store/accounts/database-accounts.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createDatabaseQueue } from '../../../src/store/queue/database-queue.ts';
import type { RunQueue } from '../../../src/store/queue/run-queue.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import type { TraceStore } from '../../../src/store/traces/trace-store.ts';
import { sharedPostgres } from '../../postgres.ts';
import { type Reply, type Send, send } from '../../support/http/http-server.ts';
import createGate from './fixtures/gate/environment.ts';
import createTrouble from './fixtures/trouble/environment.ts';

export const APP_URL = 'https://app.example';

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}/environment.ts`, import.meta.url));

export const COUNTER: EnvironmentTarget = inMemory(Counter);
export const COUNTER_PROCESS: EnvironmentTarget = {
  kind: 'module',
  path: fileURLToPath(new URL('../../../environments/counter/environment.ts', import.meta.url)),
};
export const TROUBLE: EnvironmentTarget = { kind: 'module', path: fixture('trouble') };
/** In memory: for what does no harm to this process. */
export const TROUBLE_HERE: EnvironmentTarget = inMemory(createTrouble);
export const GATE_HERE: EnvironmentTarget = inMemory(createGate);
export const GATE = { kind: 'module', path: fixture('gate') } as const;
export const BROKEN: EnvironmentTarget = { kind: 'module', path: fixture('broken') };

export interface Parts {
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly accounts: Accounts;
}

/** Who ends what was started: a test at its end, or a hook after all of them. */
type OnEnd = (end: () => void | Promise<void>) => void;

/** A directory, until the test ends. */
export function temporaryDirectory(onEnd: OnEnd = onTestFinished): string {
  const directory = mkdtempSync(join(tmpdir(), 'proctor-run-service-'));
  onEnd(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export async function openParts(databaseUrl?: string, onEnd: OnEnd = onTestFinished): Promise<Parts> {
  const database = await openDatabase(databaseUrl ?? (await newDatabase()));
  onEnd(() => database.close());
  return {
    database,
    store: createTraceStore(database, { appUrl: APP_URL }),
    queue: createDatabaseQueue(database),
    accounts: createAccounts(database),
  };
}

/** On SQLite, or with `TEST_STORE=postgres` on Postgres: then all that these tests say is asked of the other store too. */
async function newDatabase(): Promise<string> {
  if (process.env.TEST_STORE === 'postgres') return await (await sharedPostgres()).createDatabase();
  return `sqlite:${join(temporaryDirectory(), 'proctor.db')}`;
}

export interface TestService extends Parts, RunService {
  readonly key: string;
  /** With the key of the account `local`, unless the headers say otherwise. */
  request(path: string, options?: Send): Promise<Reply>;
  /** `POST /v1/agent/run` on the counter, with whatever differs. */
  run(body?: object, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  /** The trace once its run has ended. */
  ended(traceId: string): Promise<Trace>;
  /** Rows in the store: what refusals must not add to. */
  countRuns(): Promise<number>;
}

/** A run service on a free port with a real database, until the test ends. */
export async function startService(
  options: Partial<RunServiceOptions> & { parts?: Parts } = {},
  onEnd: OnEnd = onTestFinished,
): Promise<TestService> {
  const { parts = await openParts(), ...rest } = options;
  const { key } = await parts.accounts.createKey({ name: `test-${Math.random()}` });
  const service = await startRunService({
    ...parts,
    environments: new Map([['counter', COUNTER]]),
    models: createModels({}),
    host: '127.0.0.1',
    port: 0,
    appUrl: APP_URL,
    logger: pino({ level: 'silent' }),
    ...rest,
  });
  onEnd(() => service.close());
  const request = (path: string, { headers, ...other }: Send = {}) =>
    send(service.url, path, { ...other, headers: { authorization: `Bearer ${key}`, ...headers } });
  return {
    ...parts,
    ...service,
    key,
    request,
    run: (body = {}, headers = {}) =>
      request('/v1/agent/run', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({
          env_name: 'counter',
          scenario_name: 'count_to',
          scenario_args: { target: 3 },
          model: 'proctor/oracle',
          ...body,
        }),
      }),
    ended: async (traceId) => traceSchema.parse((await request(`/v1/traces/${traceId}?wait=240`)).json),
    countRuns: async () => (await parts.database.kysely.selectFrom('traces').select('trace_id').execute()).length,
  };
}

/** Models of any name that answer by this function. */
export function answeringModels(respond: ChatModel['respond']): Models {
  const models: Models = {
    list: createModels({}).list,
    check: () => {},
    create: () => ({ name: 'any', respond }),
    canPrice: () => false,
    harness: {},
    gatewayOf: () => undefined,
    serving: () => models,
    createForAgent: () => {
      throw new Error('No agent asks for it');
    },
  };
  return models;
}

/** A run whose tool call does not end by itself within a test. */
export const SLOW_RUN = { scenario_name: 'slow_count', scenario_args: { target: 1, delay_ms: 60_000 } };

/** Resolves while the run waits for a tool. */
export async function untilToolCalled({ store }: Pick<Parts, 'store'>, traceId: string): Promise<void> {
  await expect.poll(async () => (await store.events(traceId)).at(-1)?.type, { timeout: 60_000 }).toBe('tool.called');
}

export function traceIdOf(reply: Reply): string {
  return z.object({ trace_id: z.string() }).parse(reply.json).trace_id;
}
