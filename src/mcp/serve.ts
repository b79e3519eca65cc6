import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../contract/errors.ts';
import { PROCESS_VARIABLES } from '../contract/names.ts';
import type { EnvironmentSource } from '../environment/environment-source.ts';
import type { HttpOptions } from './http/serve-over-http.ts';
import { serveOverStdio } from './stdio/serve-over-stdio.ts';

export interface ServeOptions extends HttpOptions {
  /**
   * Default `stdio`, which uses `harnessKey` alone of the other options. `sse` is `http` with the deprecated pair of
   * `/sse` and `/messages` beside `/mcp`.
   */
  readonly transport?: 'stdio' | 'http' | 'sse' | undefined;
}

export interface ServerHandle {
  /** Where it is served, over HTTP and SSE. */
  readonly url?: string;
  /** Stops serving: sessions end with their close hooks, shutdown hooks do not run. Never rejects. */
  close(): Promise<void>;
}

/**
 * Serves an environment until the handle is closed, or SIGTERM. Over stdio the end of standard input ends the process.
 *
 * @throws TypeError for what is not an environment, or a transport that does not exist; Error for what cannot be bound,
 *   for a bad key, and for an address that is open to other machines without a bearer token.
 */
export async function serve(environment: EnvironmentSource, options: ServeOptions = {}): Promise<ServerHandle> {
  const { transport = 'stdio' } = options;
  if (transport === 'http' || transport === 'sse') {
    // A third of this package, which a process over stdio starts faster without.
    const { serveOverHttp } = await import('./http/serve-over-http.ts');
    if (transport === 'http') return serveOverHttp(environment, options);
    const server = await serveOverHttp(environment, { ...options, hasSse: true });
    return { ...server, url: server.sseUrl ?? server.url };
  }
  if (transport === 'stdio') return serveOverStdio(environment, options);
  throw new TypeError(`There is no transport ${JSON.stringify(transport)}: use "stdio", "http" or "sse"`);
}

/**
 * Serves the environment when its file is the program (`node environment.js`), as `PROCTOR_TRANSPORT` and `PROCTOR_PORT`
 * say or over stdio; does nothing when the file is imported. What fails at start ends the process with 1.
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
 * Reads `PROCTOR_TRANSPORT` and `PROCTOR_PORT`; `serve` refuses a transport that does not exist.
 *
 * @throws Error for what is not a port.
 */
export function optionsOf(variables: NodeJS.ProcessEnv): ServeOptions {
  const transport = variables[PROCESS_VARIABLES.transport] as ServeOptions['transport'];
  const port = variables[PROCESS_VARIABLES.port];
  if (port !== undefined && !/^\d{1,5}$/.test(port)) {
    throw new Error(`${PROCESS_VARIABLES.port} has to be a port number, got ${JSON.stringify(port)}`);
  }
  return { transport, ...(port === undefined ? {} : { port: Number(port) }) };
}
