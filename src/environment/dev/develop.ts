import { randomBytes } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { basename, dirname, relative } from 'node:path';
import { messageOf } from '../../contract/errors.ts';
import { untilAborted } from '../../support/runtime/deadline.ts';
import { serveHostOverHttp } from '../server/http/serve-over-http.ts';
import { onSigterm } from '../server/sigterm.ts';
import { StdioTransport } from '../server/stdio/stdio-transport.ts';
import { ChildPool } from './child-pool.ts';
import { describeReload } from './describe-reload.ts';
import { ReloadHost } from './reload-host.ts';
import { SourceWatch } from './watch.ts';

export interface DevelopOptions {
  /** Path of the environment's module. */
  readonly path: string;
  readonly transport: 'stdio' | 'http';
  /** Port of the HTTP transport, 0 for any free port. */
  readonly port: number;
  /** Without a key, the HTTP transport generates one and prints it. */
  readonly harnessKey: string | undefined;
  /** Environment variables for the environment's processes. */
  readonly variables: Readonly<Record<string, string>>;
  /** Prints a line for the developer. */
  readonly say: (line: string) => void;
  /** Aborted to stop serving. Sessions then end with their close hooks but without shutdown hooks. */
  readonly signal: AbortSignal;
  /** Milliseconds that a running call may take after its process was replaced. Default 2,000. */
  readonly callGraceMs?: number | undefined;
  /** Milliseconds that a client waits for an environment that cannot be started. Default 30,000. */
  readonly patienceMs?: number | undefined;
}

const CALL_GRACE_MS = 2_000;
const PATIENCE_MS = 30_000;
const INITIALIZE_TIMEOUT_MS = 60_000;
/** Maximum number of sessions. Each has its own process. */
const MAX_SESSIONS = 32;

/**
 * Serves an environment and replaces its process whenever its files change, while clients stay connected. Ends when the
 * signal is aborted, and over stdio when the input ends. SIGTERM runs the shutdown hooks and exits.
 *
 * @throws Error if the address cannot be bound.
 */
export async function develop(options: DevelopOptions): Promise<void> {
  const { transport, say, signal } = options;
  const path = realpathSync(options.path);
  const harnessKey = options.harnessKey ?? (transport === 'http' ? randomBytes(32).toString('base64url') : undefined);
  let onChange: (paths: readonly string[]) => void = () => {};
  const watch = new SourceWatch({
    folder: dirname(path),
    onChange: (paths) => onChange(paths),
    onError: (error) => say(`proctor: Files cannot be watched: ${error.message}`),
  });
  const pool = new ChildPool({
    path,
    variables: options.variables,
    harnessKey,
    onLine: say,
    onFiles: (files) => void watch.add(files),
    keepsLoaded: transport === 'http',
  });
  try {
    await watch.ready;
    await watch.add([path]);
    const first = await renew(pool, watch);
    if (first.kind === 'broken') {
      say(`proctor: ${first.reason}`);
      say('proctor: The environment cannot be started yet. Waiting for the next save.');
    }
    const host = createHost(options, pool, path, harnessKey);
    onChange = (paths) => void reload(paths, { pool, watch, host, say });
    const serving = transport === 'http' ? await serveHttp(host, options, harnessKey) : await serveStdio(host, say);
    pool.warm();
    await untilAborted(serving.ended, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    await serving.close();
  } finally {
    await Promise.all([watch.close(), pool.close()]);
  }
}

type Renewal = { readonly kind: 'renewed' | 'overtaken' } | { readonly kind: 'broken'; readonly reason: string };

async function renew(pool: ChildPool, watch: SourceWatch): Promise<Renewal> {
  try {
    if (!(await pool.renew())) return { kind: 'overtaken' };
    watch.isBroken = false;
    return { kind: 'renewed' };
  } catch (error) {
    watch.isBroken = true;
    return { kind: 'broken', reason: messageOf(error) };
  }
}

interface ReloadParts {
  readonly pool: ChildPool;
  readonly watch: SourceWatch;
  readonly host: ReloadHost;
  readonly say: (line: string) => void;
}

async function reload(paths: readonly string[], { pool, watch, host, say }: ReloadParts): Promise<void> {
  const startedAt = performance.now();
  const renewal = await renew(pool, watch);
  if (renewal.kind === 'overtaken') return;
  if (renewal.kind === 'broken') {
    const isServing = pool.latest !== undefined;
    say(`proctor: ${renewal.reason}`);
    say(isServing ? 'proctor: The last good version keeps serving.' : 'proctor: Waiting for the next save.');
    return;
  }
  const outcomes = await host.reload();
  pool.warm();
  const changed = paths.map((path) => relative(process.cwd(), path)).join(', ');
  for (const line of describeReload(changed, performance.now() - startedAt, outcomes)) say(`proctor: ${line}`);
}

function createHost(
  options: DevelopOptions,
  pool: ChildPool,
  path: string,
  harnessKey: string | undefined,
): ReloadHost {
  const { transport, say, callGraceMs = CALL_GRACE_MS, patienceMs = PATIENCE_MS } = options;
  // The name of the folder, until the environment has been loaded and has told its own name.
  const { name, version } = pool.latest ?? { name: basename(dirname(path)), version: '0.0.0' };
  return new ReloadHost({
    name,
    version,
    authority: { harnessKey, isPeerTrusted: transport === 'stdio' },
    report: (text) => say(`proctor: ${text}`),
    pool,
    callGraceMs,
    initializeTimeoutMs: INITIALIZE_TIMEOUT_MS,
    patienceMs,
  });
}

interface DevServer {
  /** Resolves when the client has disconnected, over stdio. Never resolves over HTTP. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

async function serveHttp(
  host: ReloadHost,
  options: DevelopOptions,
  harnessKey: string | undefined,
): Promise<DevServer> {
  const { say, port } = options;
  const server = await serveHostOverHttp(host, { port, maxSessions: MAX_SESSIONS });
  if (options.harnessKey === undefined)
    say(`Harness key: ${harnessKey} (for a harness, which may use setup and evaluation; an agent needs none)`);
  say(
    `Serving ${host.name} at ${server.url}; it is reloaded when its files change. In a browser: ${server.url.replace(/\/mcp$/, '/svc')}`,
  );
  return { ended: new Promise(() => {}), close: () => server.close() };
}

async function serveStdio(host: ReloadHost, say: (line: string) => void): Promise<DevServer> {
  const front = new StdioTransport(process.stdin, process.stdout);
  let isShuttingDown = false;
  const ended = new Promise<void>((resolve) => {
    front.onclose = () => {
      // After SIGTERM the process exits by itself when the shutdown hooks have run.
      if (!isShuttingDown) resolve();
    };
  });
  // The first message decides the protocol era. The argument makes no difference here.
  await host.openSession('legacy').connect(front);
  const forgetSigterm = onSigterm(() => {
    isShuttingDown = true;
    return host.shutdown();
  });
  say(`Serving ${host.name} over stdio; it is reloaded when its files change.`);
  return {
    ended,
    async close() {
      forgetSigterm();
      await host.close();
    },
  };
}
