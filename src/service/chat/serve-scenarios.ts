import { type Logger, pino } from 'pino';
import { ApiError } from '../../contract/errors.ts';
import { DEFAULT_PORTS } from '../../contract/names.ts';
import { connectEnvironment } from '../../environment/client/connect.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import { inMemory } from '../../environment/server/in-memory.ts';
import { createModels, type Models } from '../../models/gateway/create-model.ts';
import type { GatewayClient } from '../../models/gateway/gateway-client.ts';
import { checkHarnessModels } from '../../models/gateway/harness-models.ts';
import { type ModelConfig, modelConfigFromEnvironment } from '../../models/gateway/model-config.ts';
import { createAccounts } from '../../store/accounts/database-accounts.ts';
import type { Database } from '../../store/database/database.ts';
import { openDatabase } from '../../store/database/open-database.ts';
import type { AuthenticationOptions } from '../../support/http/api/api-keys.ts';
import { fixedKey } from '../../support/http/api/fixed-key.ts';
import { createRedactor, type Secret } from '../../support/redaction/redactor.ts';
import { secretsOfVariables } from '../../support/redaction/secrets.ts';
import { preview } from '../../support/schema/json-schema.ts';
import { resolveEnvironment } from '../config/find-environments.ts';
import { assertRanges } from './option-ranges.ts';
import type { ScenarioServer, ScenarioServerOptions } from './start.ts';

/**
 * An environment to serve. A class that extends `EnvironmentServer`, a factory or an instance runs in this process.
 * Other forms are a command that serves MCP over stdio, a URL of Streamable HTTP, and the path of a module, which gets
 * a process for each session.
 */
export type ScenarioEnvironment =
  | string
  | URL
  | { readonly command: string; readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> }
  | { readonly url: string; readonly headers?: Readonly<Record<string, string>>; readonly harnessKey?: string }
  | object;

export interface ServeScenariosOptions
  extends Pick<
    ScenarioServerOptions,
    | 'maxSteps'
    | 'sessionTtlMs'
    | 'maxSessions'
    | 'warmProcesses'
    | 'isWarmAtStart'
    | 'hosts'
    | 'startTimeoutMs'
    | 'allowedHosts'
    | 'shutdownGraceMs'
  > {
  readonly environment?: ScenarioEnvironment;
  readonly environments?: readonly ScenarioEnvironment[];
  /**
   * An `openai` client, or any object with its `chat.completions.create`. Default: a client for `PROCTOR_GATEWAY_URL`.
   * Reference models (`proctor/…`) need no client.
   */
  readonly client?: GatewayClient;
  /** Default model of sessions. */
  readonly model: string;
  /** Model for judges and for sampling requests of environments. Default: none. */
  readonly judgeModel?: string;
  /** Port. Default 8321; 0 takes any free one. */
  readonly port?: number;
  /** Bind address. Default 127.0.0.1. Any other than loopback requires an `apiKey`. */
  readonly host?: string;
  /** Key that every request has to send. Default: requests need no key. */
  readonly apiKey?: string;
  /**
   * Database of traces and results: `sqlite:<path>` or `postgres://…`. Default: `PROCTOR_DATABASE_URL`, or
   * `sqlite:.proctor/proctor.db`.
   */
  readonly store?: string;
  /** Address of the trace pages. Default: `PROCTOR_APP_URL`, or this server. */
  readonly appUrl?: string;
  readonly logger?: Logger;
  /** False stores traces and results without redacting secrets. Default true. */
  readonly redact?: boolean;
}

/**
 * Serves the scenarios of environments to any OpenAI-compatible chat client, until the handle is closed.
 *
 * @throws TypeError for an invalid environment or a number out of range; Error with a way out for a model without a
 * gateway, a port in use, and a bind beyond loopback without a key.
 * @example
 * ```ts
 * const server = await serveScenarios({
 *   environment: desk, // or environments: [desk, './elsewhere/shop/environment.ts', …]
 *   client: new OpenAI({ baseURL: process.env.GATEWAY_URL, apiKey: process.env.GATEWAY_KEY }),
 *   model: 'gpt-5-mini',
 *   port: 0, // any free one; default 8321
 *   maxSteps: 20,
 * });
 * console.log(`Scenarios at ${server.url}/v1`);
 * ```
 */
export async function serveScenarios(options: ServeScenariosOptions): Promise<ScenarioServer> {
  assertRanges(options);
  const { host = '127.0.0.1', port = DEFAULT_PORTS.scenarioServer, model, judgeModel, client, apiKey } = options;
  const gateway = client === undefined ? modelConfigFromEnvironment(process.env) : { client };
  const redactor = createRedactor(keysOf(options, gateway), []);
  const models = createModels({ ...gateway, redactor, harness: { judge: judgeModel } });
  assertModel(models, model);
  checkHarnessModels(models, { judge_model: judgeModel ?? null });
  const environments = await nameEnvironments(sourcesOf(options));
  const database = await openDatabase(options.store ?? process.env.PROCTOR_DATABASE_URL ?? DEFAULT_STORE);
  try {
    // A program that imports this may never serve: the server is loaded here.
    const { startAlone } = await import('./start-alone.ts');
    const { server } = await startAlone({
      ...options,
      environments,
      database,
      models,
      host,
      port,
      redactor: options.redact !== false && createRedactor(secretsOf(options)),
      appUrl: appUrlOf(options),
      accounts: createAccounts(database),
      logger: options.logger ?? pino({ level: 'silent' }),
      ...guardedByKey(apiKey),
    });
    return closingAlso(server, database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

const DEFAULT_STORE = 'sqlite:.proctor/proctor.db';

/** The keys from the options, and the secrets from the process's environment variables. */
function secretsOf(options: ServeScenariosOptions): readonly Secret[] {
  return [...secretsOfVariables(process.env), ...keysOf(options)];
}

function keysOf({ client, apiKey }: ServeScenariosOptions, { gatewayApiKey }: ModelConfig = {}): readonly Secret[] {
  const gatewayKey: unknown = client === undefined ? gatewayApiKey : Reflect.get(client, 'apiKey');
  return [
    ...(apiKey === undefined ? [] : [{ name: 'api_key', value: apiKey }]),
    ...(typeof gatewayKey === 'string' ? [{ name: 'gateway_key', value: gatewayKey }] : []),
  ];
}

/** Fails early for a model that no gateway serves: every session would be refused. @throws Error */
export function assertModel(models: Models, model: string): void {
  try {
    models.check(model);
  } catch (error) {
    if (error instanceof ApiError) throw new Error(`${error.message}.`, { cause: error });
    throw error;
  }
}

/** Authentication by one fixed key. Without a key, all requests are allowed. */
export function guardedByKey(apiKey: string | undefined): Pick<AuthenticationOptions, 'verifyKey' | 'keyHint'> {
  return fixedKey(apiKey, '--api-key, PROCTOR_SCENARIOS_API_KEY, or apiKey in code');
}

function sourcesOf({ environment, environments = [] }: ServeScenariosOptions): readonly ScenarioEnvironment[] {
  const sources = environment === undefined ? environments : [environment, ...environments];
  if (sources.length === 0) throw new TypeError('serveScenarios needs an environment (or environments, a list).');
  return sources;
}

/** Keys the environments by the names that they announce. */
async function nameEnvironments(
  sources: readonly ScenarioEnvironment[],
): Promise<ReadonlyMap<string, EnvironmentTarget>> {
  const named = new Map<string, EnvironmentTarget>();
  for (const source of sources) {
    const target = toTarget(source);
    const name = await nameOf(target);
    if (named.has(name)) throw new TypeError(`Two of the environments are named ${preview(name)}.`);
    named.set(name, target);
  }
  return named;
}

async function nameOf(target: EnvironmentTarget): Promise<string> {
  const isForReading = target.kind === 'module' || target.kind === 'memory';
  const client = await connectEnvironment(target, { isForReading });
  try {
    return client.name;
  } finally {
    await client.close();
  }
}

function toTarget(source: ScenarioEnvironment): EnvironmentTarget {
  if (typeof source === 'string') return resolveEnvironment(source, new Map(), process.cwd()).target;
  if (source instanceof URL) {
    if (source.protocol === 'file:') return { kind: 'module', path: decodeURIComponent(source.pathname) };
    return { kind: 'url', url: source.href };
  }
  if ('command' in source && typeof source.command === 'string') {
    const { command, args = [], env } = source;
    return { kind: 'command', command, args, ...(env === undefined ? {} : { env }) };
  }
  if ('url' in source && typeof source.url === 'string') return { ...source, kind: 'url', url: source.url };
  return inMemory(source);
}

function appUrlOf({ appUrl }: ServeScenariosOptions): string | undefined {
  return (appUrl ?? process.env.PROCTOR_APP_URL)?.replace(/\/+$/, '') || undefined;
}

function closingAlso(server: ScenarioServer, database: Database): ScenarioServer {
  let closed: Promise<void> | undefined;
  return {
    url: server.url,
    port: server.port,
    close() {
      closed ??= server.close().then(() => database.close());
      return closed;
    },
  };
}
