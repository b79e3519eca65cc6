import { type Logger, pino } from 'pino';
import { createAccounts } from '../accounts/database-accounts.ts';
import { connectEnvironment } from '../client/connect.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import { resolveEnvironment } from '../config/find-environments.ts';
import { ApiError } from '../contract/errors.ts';
import { DEFAULT_PORTS } from '../contract/names.ts';
import type { Database } from '../database/database.ts';
import { openDatabase } from '../database/open-database.ts';
import type { AuthenticationOptions } from '../http/api-keys.ts';
import { fixedKey } from '../http/fixed-key.ts';
import { inMemory } from '../mcp/in-memory.ts';
import { createModels, type Models } from '../model/create-model.ts';
import type { GatewayClient } from '../model/gateway-client.ts';
import { checkHarnessModels } from '../model/harness-models.ts';
import { modelConfigFromEnvironment } from '../model/model-config.ts';
import { createRedactor, type Secret } from '../redaction/redactor.ts';
import { secretsOfVariables } from '../redaction/secrets.ts';
import { preview } from '../schema/json-schema.ts';
import { assertRanges } from './option-ranges.ts';
import type { ScenarioServer, ScenarioServerOptions } from './start.ts';
import { startAlone } from './start-alone.ts';

/**
 * An environment: a class that extends `EnvironmentServer`, a factory, or an instance, which is served in this process; a
 * program that serves MCP over stdio; an address of Streamable HTTP; or the path of a module, of which each session gets
 * a process of its own.
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
   * An `openai` client, or anything with its `chat.completions.create`. Default: one for `PROCTOR_GATEWAY_URL`. The
   * reference models (`proctor/…`) need none.
   */
  readonly client?: GatewayClient;
  /** Default model of sessions. */
  readonly model: string;
  /** Judges for evaluations, and answers questions of environments to a model. Default: none. */
  readonly judgeModel?: string;
  /** Default 8321; 0 for any free one. */
  readonly port?: number;
  /** Default 127.0.0.1. Elsewhere than on loopback an `apiKey` is needed. */
  readonly host?: string;
  /** Asked of every request where it is set. */
  readonly apiKey?: string;
  /** Where traces and results are kept: `sqlite:<path>` or `postgres://…`. Default: `PROCTOR_DATABASE_URL`, or `sqlite:.proctor/proctor.db`. */
  readonly store?: string;
  /** Where the trace pages are. Default: `PROCTOR_APP_URL`, or this server. */
  readonly appUrl?: string;
  readonly logger?: Logger;
  /** False: traces and results are stored with the secrets that they hold. Default true. */
  readonly redact?: boolean;
}

/**
 * Serves the scenarios of environments to any OpenAI-style chat client, until the handle is closed.
 *
 * @throws TypeError for what is not an environment, and a number that cannot be meant; Error that says what to do: for a model that needs a gateway where
 *   none is configured, a port in use, and a bind elsewhere than loopback without a key.
 */
export async function serveScenarios(options: ServeScenariosOptions): Promise<ScenarioServer> {
  assertRanges(options);
  const { host = '127.0.0.1', port = DEFAULT_PORTS.scenarioServer, model, judgeModel, client, apiKey } = options;
  const gateway = client === undefined ? modelConfigFromEnvironment(process.env) : { client };
  const models = createModels({ ...gateway, harness: { judge: judgeModel } });
  assertModel(models, model);
  checkHarnessModels(models, { judge_model: judgeModel ?? null });
  const environments = await nameEnvironments(sourcesOf(options));
  const database = await openDatabase(options.store ?? process.env.PROCTOR_DATABASE_URL ?? DEFAULT_STORE);
  try {
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

/** The keys that it was given, and those that the process's variables hold. */
function secretsOf({ client, apiKey }: ServeScenariosOptions): readonly Secret[] {
  const gatewayKey: unknown = client === undefined ? undefined : Reflect.get(client, 'apiKey');
  return [
    ...secretsOfVariables(process.env),
    ...(apiKey === undefined ? [] : [{ name: 'api_key', value: apiKey }]),
    ...(typeof gatewayKey === 'string' ? [{ name: 'gateway_key', value: gatewayKey }] : []),
  ];
}

/** A server that stands alone with a model that nobody serves would refuse every session. @throws Error */
export function assertModel(models: Models, model: string): void {
  try {
    models.check(model);
  } catch (error) {
    if (error instanceof ApiError) throw new Error(`${error.message}.`, { cause: error });
    throw error;
  }
}

/** A server with one fixed key: no other can be made. Without one nobody is asked. */
export function guardedByKey(apiKey: string | undefined): Pick<AuthenticationOptions, 'verifyKey' | 'keyHint'> {
  return fixedKey(apiKey, '--api-key, PROCTOR_SCENARIOS_API_KEY, or apiKey in code');
}

function sourcesOf({ environment, environments = [] }: ServeScenariosOptions): readonly ScenarioEnvironment[] {
  const sources = environment === undefined ? environments : [environment, ...environments];
  if (sources.length === 0) throw new TypeError('serveScenarios needs an environment (or environments, a list).');
  return sources;
}

/** By the names that the environments announce. */
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
