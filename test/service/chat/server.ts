import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import Counter from '../../../environments/counter/environment.ts';
import type { FinishedSession, SessionEntry, Svc } from '../../../src/contract/session.ts';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import {
  type ScenarioServer,
  type ScenarioServerOptions,
  startScenarioServer,
} from '../../../src/service/chat/start.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import type { TraceStore } from '../../../src/store/traces/trace-store.ts';
import { type FakeGateway, fakeTiming, openGateway, type Play, says, type USAGE } from '../../gateway.ts';
import { type Reply, send } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import createDesk from './fixtures/desk.ts';

export const COUNTER: EnvironmentTarget = inMemory(Counter);
/** Scenarios that go wrong, wait, or print, as tests need them. */
const DESK: EnvironmentTarget = inMemory(createDesk);

export interface TestServer {
  readonly url: string;
  readonly gateway: FakeGateway;
  readonly store: TraceStore;
  readonly database: Database;
  readonly server: ScenarioServer;
  /** A request with a JSON body. */
  post(path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  get(path: string): Promise<Reply>;
  remove(path: string): Promise<Reply>;
  /** One turn over chat; the messages are one of the user's where it is a text. */
  chat(message: string, fields?: object, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  close(): Promise<void>;
}

export interface TestServerOptions extends Partial<ScenarioServerOptions> {
  /** How the gateway answers one request after the other; the last one stays. */
  readonly plays?: readonly Play[];
}

/** A scenario server on a free port of loopback with a gateway over a real socket, until the test ends. */
export async function serve(options: TestServerOptions = {}): Promise<TestServer> {
  const server = await openServer(options);
  onTestFinished(server.close);
  return server;
}

/** Sends a turn until the session is free: one that was given up ends a little after its request. */
export async function untilFree(send: () => Promise<Reply>): Promise<Reply> {
  return await until(async () => {
    const reply = await send();
    return reply.status !== 409 && reply;
  });
}

/** As `serve`, for tests that share it: whoever opened it closes it. */
export async function openServer({ plays = [says('Done.')], ...options }: TestServerOptions = {}): Promise<TestServer> {
  const gateway = await openGateway(...plays);
  const database = options.database ?? (await openDatabase('sqlite::memory:'));
  const store = options.store ?? createTraceStore(database, { appUrl: 'https://app.example' });
  const server = await startScenarioServer({
    environments: new Map([
      ['counter', COUNTER],
      ['desk', DESK],
    ]),
    models: createModels({
      gatewayUrl: gateway.url,
      timing: fakeTiming(),
    }),
    model: 'test-model',
    host: '127.0.0.1',
    port: 0,
    appUrl: 'https://app.example',
    logger: pino({ level: 'silent' }),
    shutdownGraceMs: 2_000,
    ...options,
    database,
    store,
  });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= (async () => {
      await server.close();
      if (options.database === undefined) await database.close();
      await gateway.close();
    })();
    return closed;
  };
  const post: TestServer['post'] = (path, body, headers = {}) =>
    send(server.url, path, {
      method: 'POST',
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    url: server.url,
    gateway,
    store,
    database,
    server,
    post,
    get: (path) => send(server.url, path),
    remove: (path) => send(server.url, path, { method: 'DELETE' }),
    chat: (message, fields = {}, headers = {}) =>
      post('/v1/chat/completions', { messages: [{ role: 'user', content: message }], ...fields }, headers),
    close,
  };
}

/** What starts a session with the counter. */
export function counting(target: number): { scenario: string; scenario_args: { target: number } } {
  return { scenario: 'count_to', scenario_args: { target } };
}

export interface Completion {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly [{ readonly message: { readonly content: string }; readonly finish_reason: string }];
  readonly usage: typeof USAGE;
  readonly svc: Svc;
}

export const completionOf = ({ json }: Reply): Completion => json as Completion;
export const svcOf = (reply: Reply): Svc => completionOf(reply).svc;
export const finishedOf = ({ json }: Reply): FinishedSession => json as FinishedSession;
export const sessionsOf = ({ json }: Reply): readonly SessionEntry[] =>
  (json as { sessions: readonly SessionEntry[] }).sessions;

/** Status and code of an error reply, and the field at fault. */
export function errorOf({ status, json }: Reply): readonly [number, string, string | null] {
  const { error } = json as { error: { code: string; param: string | null } };
  return [status, error.code, error.param];
}

export interface Frame {
  readonly choices: readonly { readonly delta: { readonly content?: string }; readonly finish_reason: string | null }[];
  readonly usage?: object | null;
  readonly svc?: Partial<Svc> & { readonly event?: { readonly type: string; readonly name: string } };
  readonly error?: { readonly code: string; readonly message: string };
}

/** The frames of a streamed reply, without comments; `[DONE]` as it is. */
export function framesOf({ text }: Reply): readonly (Frame | '[DONE]')[] {
  return text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => frame.slice('data: '.length))
    .map((data) => (data === '[DONE]' ? data : JSON.parse(data)));
}
