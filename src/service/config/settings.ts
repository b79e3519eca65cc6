import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { DEFAULT_PORTS, PROCESS_VARIABLES } from '../../contract/names.ts';
import type { SandboxSettings } from '../../environment/sandbox/open-engine.ts';
import { type ModelConfig, modelConfigFromEnvironment } from '../../models/gateway/model-config.ts';
import { DEFAULT_DATABASE_URL } from '../../store/database/key-file.ts';
import { parseAllowedHosts } from '../../support/http/origin-guard.ts';
import { withScheme } from '../../support/text/with-scheme.ts';
import type { TrainerConfig } from '../../training/trainer-config.ts';
import { type ParsedConfig, SANDBOX_ENGINES } from './config-schema.ts';

/**
 * Settings of an installation. An environment variable comes before the configuration, which comes before a default.
 */
export interface Settings {
  /** `sqlite:<path>` or `postgres://...`. */
  readonly databaseUrl: string;
  /** `redis://...` of BullMQ. Undefined: the queue is a database table. */
  readonly queueUrl: string | undefined;
  /** Address of the trace pages, without a slash at the end. */
  readonly appUrl: string;
  /** True if `appUrl` was set, false if it was derived from the port. */
  readonly isAppUrlNamed: boolean;
  /** Address at which other processes of the same database reach this one. Undefined: the bound address. */
  readonly advertiseUrl: string | undefined;
  readonly ports: { readonly runService: number; readonly scenarioServer: number };
  /** Host names, beside loopback, that `Host` and `Origin` may contain. */
  readonly allowedHosts: readonly string[];
  /** Gateways and their models, for `createModels`. */
  readonly models: ModelConfig;
  /** Trainers by configured name. */
  readonly trainers: Readonly<Record<string, TrainerConfig>>;
  /** Agents by configured name. */
  readonly agents: ParsedConfig['agents'];
  /** The engine of sandboxes, and what it needs of the operator's variables. */
  readonly sandbox: SandboxSettings;
  /** API key for clients of a run service. */
  readonly apiKey: string | undefined;
  /** Whether secrets are removed from stored data. Logs and spans are always redacted. */
  readonly redact: boolean;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** @throws Error with the variable at fault, its value and a valid one. */
export function readSettings(variables: Variables, config: ParsedConfig, directory: string = process.cwd()): Settings {
  const ports = {
    runService: config.ports.runService ?? DEFAULT_PORTS.runService,
    scenarioServer: config.ports.scenarioServer ?? DEFAULT_PORTS.scenarioServer,
  };
  const appUrl = readUrl(variables, 'PROCTOR_APP_URL');
  const databaseUrl = readDatabaseUrl(variables, config);
  return {
    databaseUrl,
    sandbox: readSandbox(variables, config, ownerOf(databaseUrl, directory)),
    queueUrl: readQueueUrl(variables, config),
    appUrl: appUrl ?? `http://127.0.0.1:${ports.runService}`,
    isAppUrlNamed: appUrl !== undefined,
    advertiseUrl: readUrl(variables, 'PROCTOR_ADVERTISE_URL'),
    ports,
    allowedHosts: parseAllowedHosts(variables.PROCTOR_ALLOWED_HOSTS),
    models: readModels(variables, config),
    trainers: config.trainers,
    agents: config.agents,
    apiKey: readVariable(variables, 'PROCTOR_API_KEY'),
    redact: config.redact,
  };
}

function readDatabaseUrl(variables: Variables, config: ParsedConfig): string {
  const url = readVariable(variables, 'PROCTOR_DATABASE_URL') ?? config.store ?? DEFAULT_DATABASE_URL;
  if (/^sqlite:./.test(url) || /^postgres(ql)?:\/\/./.test(url)) return url;
  const scheme = url.split(':')[0]; // The scheme only, since the URL may contain a password.
  throw new Error(
    `PROCTOR_DATABASE_URL (or "store" in the configuration) starts with ${JSON.stringify(scheme)}; it has to be ` +
      '"sqlite:<path>" or "postgres://...".',
  );
}

/** Variables that engines read. The processes of environments do not get them otherwise. */
const ENGINE_VARIABLES = [
  'DOCKER_HOST',
  'DOCKER_CONTEXT',
  'DOCKER_CONFIG',
  'DOCKER_CERT_PATH',
  'DOCKER_TLS_VERIFY',
  'XDG_RUNTIME_DIR',
  'KUBECONFIG',
  'KUBERNETES_SERVICE_HOST',
  'KUBERNETES_SERVICE_PORT',
  'PROCTOR_SANDBOX_DISK_FLOOR',
] as const;

function readSandbox(variables: Variables, { sandbox }: ParsedConfig, owner: string): SandboxSettings {
  const named = readVariable(variables, PROCESS_VARIABLES.sandbox);
  const engine = SANDBOX_ENGINES.find((known) => known === named);
  if (named !== undefined && engine === undefined) {
    throw new Error(
      `PROCTOR_SANDBOX is ${JSON.stringify(named)}; it has to be one of ${SANDBOX_ENGINES.join(', ')}, or nothing.`,
    );
  }
  const found = ENGINE_VARIABLES.flatMap((name) => {
    const value = readVariable(variables, name);
    return value === undefined ? [] : [[name, value]];
  });
  const given = { ...sandbox, engine: engine ?? sandbox.engine, owner };
  return found.length === 0 ? given : { ...given, variables: Object.fromEntries(found) };
}

/**
 * The id of a database in the labels of sandboxes, by which they are found again. It tells nothing of the address, which
 * may contain a password. A file belongs to its machine.
 */
function ownerOf(databaseUrl: string, directory: string): string {
  const [, file] = /^sqlite:(.+)$/.exec(databaseUrl) ?? [];
  const address = file === undefined ? databaseUrl : `${hostname()}:${resolve(directory, file)}`;
  return createHash('sha256').update(address).digest('hex').slice(0, 16);
}

function readQueueUrl(variables: Variables, config: ParsedConfig): string | undefined {
  const url = readVariable(variables, 'PROCTOR_QUEUE_URL') ?? config.queue;
  if (url === undefined || /^(rediss?|postgres(ql)?):\/\/./.test(url)) return url;
  const scheme = url.split(':')[0];
  throw new Error(
    `PROCTOR_QUEUE_URL (or "queue" in the configuration) starts with ${JSON.stringify(scheme)}; it has to be ` +
      '"redis://..." or "postgres://...", or nothing: then the queue is in the database.',
  );
}

function readModels(variables: Variables, config: ParsedConfig): ModelConfig {
  const gateways = Object.entries(config.gateways).map(([pattern, { url, ...gateway }]) => ({
    pattern,
    baseUrl: url,
    ...gateway,
  }));
  return { ...modelConfigFromEnvironment(variables), gateways, harness: config.models };
}

function readUrl(variables: Variables, name: string): string | undefined {
  const url = readVariable(variables, name);
  if (url === undefined) return undefined;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new Error(
      `${name} is ${JSON.stringify(url)}; it has to be a URL that starts with http:// or https://.${withScheme(url) ?? ''}`,
    );
  }
  return url.replace(/\/+$/, '');
}

/** Treats an empty variable as unset. */
function readVariable(variables: Variables, name: string): string | undefined {
  const text = variables[name]?.trim();
  return text === '' ? undefined : text;
}
