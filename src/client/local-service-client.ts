import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { DEFAULT_DATABASE_URL, keyFileOf } from '../store/database/key-file.ts';
import type { ServiceClientOptions } from './connection.ts';
import { createServiceClient as createClient, type ServiceClient } from './service-client.ts';

const DEFAULT_URL = 'http://127.0.0.1:8320';

/**
 * Creates a client with defaults from the working directory. `baseUrl` defaults to `PROCTOR_APP_URL`, else
 * `http://127.0.0.1:8320`. `apiKey` defaults to `PROCTOR_API_KEY`; for a service on this machine, else to the key that
 * the first `proctor serve` of this directory stored for the database of `PROCTOR_DATABASE_URL` (`.proctor/key`
 * without one). Variables may be in `.env`.
 *
 * @throws TypeError for an invalid base URL. The client holds nothing open and needs no closing.
 * @example
 * ```ts
 * const service = createServiceClient({ baseUrl, apiKey });
 * try {
 *   const { trace_id } = await service.runs.create({
 *     env_name: 'counter',
 *     scenario_name: 'count_to',
 *     scenario_args: { target },
 *     model: 'proctor/oracle',
 *   });
 *   for await (const event of service.traces.events(trace_id)) {
 *     if (event.type === 'tool.called') console.log(event.name, event.arguments);
 *   }
 *   return (await service.traces.get(trace_id)).reward;
 * } catch (error) {
 *   if (error instanceof ApiError && error.code === 'invalid_scenario_args') return null;
 *   throw error;
 * }
 * ```
 */
export function createServiceClient(options: ServiceClientOptions = {}): ServiceClient {
  const variables = { ...readDotenv(), ...withoutEmpty(process.env) };
  const baseUrl = options.baseUrl ?? variables.PROCTOR_APP_URL ?? DEFAULT_URL;
  const apiKey = options.apiKey ?? variables.PROCTOR_API_KEY ?? keptKey(baseUrl, variables.PROCTOR_DATABASE_URL);
  return createClient({ ...options, baseUrl, ...(apiKey === undefined ? {} : { apiKey }) });
}

/** Reads the stored key. It is sent only to this machine unless the user configures otherwise. */
function keptKey(baseUrl: string, databaseUrl = DEFAULT_DATABASE_URL): string | undefined {
  if (!URL.canParse(baseUrl) || !['127.0.0.1', 'localhost', '[::1]'].includes(new URL(baseUrl).hostname))
    return undefined;
  const directory = process.cwd();
  return readText(join(directory, keyFileOf(databaseUrl, directory)))?.trim() || undefined;
}

function readDotenv(): Variables {
  return withoutEmpty(parseEnv(readText(join(process.cwd(), '.env')) ?? ''));
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Drops empty variables, which count as unset. */
function withoutEmpty(variables: Variables): Variables {
  return Object.fromEntries(Object.entries(variables).filter(([, text]) => text?.trim()));
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
