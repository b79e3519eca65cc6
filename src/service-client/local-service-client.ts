import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'dotenv';
import { DEFAULT_DATABASE_URL, keyFileOf } from '../database/key-file.ts';
import type { ServiceClientOptions } from './connection.ts';
import { createServiceClient as createClient, type ServiceClient } from './service-client.ts';

const DEFAULT_URL = 'http://127.0.0.1:8320';

/**
 * A client as `createServiceClient` of browsers makes it, with the settings of the working directory where an option is
 * left out. `baseUrl`: `PROCTOR_APP_URL`, else `http://127.0.0.1:8320`. `apiKey`: `PROCTOR_API_KEY`; for a service on this
 * machine else the key that the first `proctor serve` of this directory has kept for the database of
 * `PROCTOR_DATABASE_URL` (`.proctor/key` without one). Variables may be in `.env`.
 *
 * @throws TypeError for a base URL that is none. Nothing is open: there is nothing to close.
 */
export function createServiceClient(options: ServiceClientOptions = {}): ServiceClient {
  const variables = { ...readDotenv(), ...withoutEmpty(process.env) };
  const baseUrl = options.baseUrl ?? variables.PROCTOR_APP_URL ?? DEFAULT_URL;
  const apiKey = options.apiKey ?? variables.PROCTOR_API_KEY ?? keptKey(baseUrl, variables.PROCTOR_DATABASE_URL);
  return createClient({ ...options, baseUrl, ...(apiKey === undefined ? {} : { apiKey }) });
}

/** A key is sent to this machine alone unless somebody says where it belongs. */
function keptKey(baseUrl: string, databaseUrl = DEFAULT_DATABASE_URL): string | undefined {
  if (!URL.canParse(baseUrl) || !['127.0.0.1', 'localhost', '[::1]'].includes(new URL(baseUrl).hostname))
    return undefined;
  const directory = process.cwd();
  return readText(join(directory, keyFileOf(databaseUrl, directory)))?.trim() || undefined;
}

function readDotenv(): Variables {
  return withoutEmpty(parse(readText(join(process.cwd(), '.env')) ?? ''));
}

type Variables = Readonly<Record<string, string | undefined>>;

/** A variable that is set to nothing is as one that is not set. */
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
