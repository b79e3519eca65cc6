import { DEFAULT_PORTS } from '../contract/names.ts';
import { DEFAULT_DATABASE_URL } from '../database/key-file.ts';
import { parseAllowedHosts } from '../http/origin-guard.ts';
import { type ModelConfig, modelConfigFromEnvironment } from '../model/model-config.ts';
import { withScheme } from '../text/with-scheme.ts';
import type { ParsedConfig, TrainerConfig } from './config-schema.ts';

/** Settings of an installation: from environment variables, the configuration and the defaults, in that order. */
export interface Settings {
  /** `sqlite:<path>` or `postgres://...`. */
  readonly databaseUrl: string;
  /** `redis://...` of BullMQ. Undefined: the queue is a table of the database. */
  readonly queueUrl: string | undefined;
  /** Where the trace pages are, without a slash at the end. */
  readonly appUrl: string;
  /** True when `appUrl` was named, false when it follows from the port. */
  readonly isAppUrlNamed: boolean;
  /** Where other processes of the same database reach this one; undefined: at the bound address. */
  readonly advertiseUrl: string | undefined;
  readonly ports: { readonly runService: number; readonly scenarioServer: number };
  /** Names beside the loopback ones that Host and Origin may have. */
  readonly allowedHosts: readonly string[];
  /** Which gateway serves which model: for `createModels`. */
  readonly models: ModelConfig;
  /** By name, as the configuration has them. */
  readonly trainers: Readonly<Record<string, TrainerConfig>>;
  /** For clients of a run service. */
  readonly apiKey: string | undefined;
  /** Whether secrets are taken out of what is stored. Logs and spans have none in any case. */
  readonly redact: boolean;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** @throws Error that names the variable at fault, its value and what would be right. */
export function readSettings(variables: Variables, config: ParsedConfig): Settings {
  const ports = {
    runService: config.ports.runService ?? DEFAULT_PORTS.runService,
    scenarioServer: config.ports.scenarioServer ?? DEFAULT_PORTS.scenarioServer,
  };
  const appUrl = readUrl(variables, 'PROCTOR_APP_URL');
  return {
    databaseUrl: readDatabaseUrl(variables, config),
    queueUrl: readQueueUrl(variables, config),
    appUrl: appUrl ?? `http://127.0.0.1:${ports.runService}`,
    isAppUrlNamed: appUrl !== undefined,
    advertiseUrl: readUrl(variables, 'PROCTOR_ADVERTISE_URL'),
    ports,
    allowedHosts: parseAllowedHosts(variables.PROCTOR_ALLOWED_HOSTS),
    models: readModels(variables, config),
    trainers: config.trainers,
    apiKey: readVariable(variables, 'PROCTOR_API_KEY'),
    redact: config.redact,
  };
}

function readDatabaseUrl(variables: Variables, config: ParsedConfig): string {
  const url = readVariable(variables, 'PROCTOR_DATABASE_URL') ?? config.store ?? DEFAULT_DATABASE_URL;
  if (/^sqlite:./.test(url) || /^postgres(ql)?:\/\/./.test(url)) return url;
  const scheme = url.split(':')[0]; // Not all of it: it may hold a password.
  throw new Error(
    `PROCTOR_DATABASE_URL (or "store" in the configuration) starts with ${JSON.stringify(scheme)}; it has to be ` +
      '"sqlite:<path>" or "postgres://...".',
  );
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

/** A variable that is set to nothing is as one that is not set. */
function readVariable(variables: Variables, name: string): string | undefined {
  const text = variables[name]?.trim();
  return text === '' ? undefined : text;
}
