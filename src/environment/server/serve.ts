import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../contract/errors.ts';
import { PROCESS_VARIABLES } from '../../contract/names.ts';
import type { EnvironmentSource } from '../authoring/environment-source.ts';
import type { HttpOptions } from './http/serve-over-http.ts';
import { serveOverStdio } from './stdio/serve-over-stdio.ts';

export interface ServeOptions extends HttpOptions {
  /**
   * Default `stdio`, which uses only `harnessKey` of the other options. `sse` is `http` with the deprecated `/sse` and
   * `/messages` in addition to `/mcp`.
   */
  readonly transport?: 'stdio' | 'http' | 'sse' | undefined;
}

export interface ServerHandle {
  /** The address, for HTTP and SSE. */
  readonly url?: string;
  /** Stops serving. Sessions end with their close hooks; shutdown hooks do not run. Never rejects. */
  close(): Promise<void>;
}

/**
 * Serves an environment until the handle is closed or SIGTERM arrives. Over stdio, the end of standard input ends the
 * process.
 *
 * @throws TypeError if it is not an environment, and for an unknown transport; Error if the address cannot be bound,
 *   for a bad key, and for an address that is open to other machines without a bearer token.
 * @example
 * ```ts
 * const server = await serve(bank, {
 *   transport: 'http',
 *   port: 0, // any free one
 *   bearerToken: process.env.BANK_TOKEN,
 *   harnessKey: process.env.BANK_HARNESS_KEY,
 * });
 * ```
 */
export async function serve(environment: EnvironmentSource, options: ServeOptions = {}): Promise<ServerHandle> {
  const { transport = 'stdio' } = options;
  if (transport === 'http' || transport === 'sse') {
    // Loaded here: it is a third of this package, and a process over stdio starts faster without it.
    const { serveOverHttp } = await import('./http/serve-over-http.ts');
    if (transport === 'http') return serveOverHttp(environment, options);
    const server = await serveOverHttp(environment, { ...options, hasSse: true });
    return { ...server, url: server.sseUrl ?? server.url };
  }
  if (transport === 'stdio') return serveOverStdio(environment, options);
  throw new TypeError(`There is no transport ${JSON.stringify(transport)}: use "stdio", "http" or "sse"`);
}

/**
 * Serves the environment if its file is the program (`node environment.js`), with the transport of `PROCTOR_TRANSPORT`
 * and `PROCTOR_PORT`, or over stdio. Does nothing if the file is imported. A failed start ends the process with code 1.
 *
 * @example
 * ```ts
 * serveMain(import.meta, Counter);
 * ```
 */
export function serveMain(meta: { readonly url: string }, environment: EnvironmentSource): void {
  if (!isProgram(meta.url)) return;
  const start = async () => {
    const { url } = await serve(environment, optionsOf(process.env));
    if (url !== undefined) process.stderr.write(`Serving MCP at ${url}\n`);
  };
  start().catch((error: unknown) => {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exit(1);
  });
}

function isProgram(url: string): boolean {
  const [, program] = process.argv;
  if (program === undefined) return false;
  try {
    return realpathSync(program) === realpathSync(fileURLToPath(url));
  } catch {
    return false;
  }
}

/**
 * Reads `PROCTOR_TRANSPORT` and `PROCTOR_PORT`. `serve` checks the transport.
 *
 * @throws Error if the port is not a number.
 */
export function optionsOf(variables: NodeJS.ProcessEnv): ServeOptions {
  const transport = variables[PROCESS_VARIABLES.transport] as ServeOptions['transport'];
  const port = variables[PROCESS_VARIABLES.port];
  if (port !== undefined && !/^\d{1,5}$/.test(port)) {
    throw new Error(`${PROCESS_VARIABLES.port} has to be a port number, got ${JSON.stringify(port)}`);
  }
  return { transport, ...(port === undefined ? {} : { port: Number(port) }) };
}
