import { chmodSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { preloadSchemas } from '@modelcontextprotocol/server';
import { messageOf } from '../../../contract/errors.ts';
import { MAX_SOCKET_PATH_BYTES } from '../../../contract/host.ts';
import { SHUTDOWN_GRACE_MS } from '../../../contract/names.ts';
import { describeThrown, describeUncaught } from '../describe-thrown.ts';
import { EnvironmentHost } from '../environment-host.ts';
import { takeSandboxVariable } from '../harness-key.ts';
import { loadEnvironmentModule } from '../load-module.ts';
import { onSigterm } from '../sigterm.ts';
import { HostControl } from './host-control.ts';
import { serveHostedSession } from './hosted-session.ts';
import { watchLoop } from './loop-watch.ts';
import { readOpening } from './read-opening.ts';
import { SessionScopes } from './session-scopes.ts';

/**
 * Maximum number of connections that wait to be accepted. Hundreds may open at once. The system has its own limit too.
 */
const BACKLOG = 4_096;
/**
 * Maximum number of connections whose opening was not read yet. Beyond it the oldest is closed, because it is the least
 * likely to be a session.
 */
const MAX_OPENING = 4_096;

/**
 * Runs a host. It loads the module and serves a session on each connection to a Unix socket. It ends when its starter
 * ends, when it was drained and the last session has ended, or on SIGTERM.
 *
 * @throws Error for an invalid start line, a socket that is not private, and a module that a host cannot serve.
 */
export async function serveAsHost(path: string): Promise<void> {
  // Done before the module is loaded, because its code must neither print into another session's log nor find the
  // secret.
  const control = new HostControl();
  const scopes = new SessionScopes();
  scopes.takeOutput();
  const { socket, secret, sessions_per_process: wanted } = await control.started();
  const environment = await loadEnvironmentModule(path);
  const host = openHost(environment, path, wanted);
  const hosting = new Hosting(host, scopes, control);
  tellOfAbruptEnds(control, scopes, () => hosting.isEnding);
  await hosting.listen(socket, secret);
  const sessionsPerProcess = wanted ?? host.sessionsPerProcess;
  const { name, version } = host;
  control.tell({ kind: 'listening', name, version, sessions_per_process: sessionsPerProcess });
  // The first client has not connected yet, so there is time to build the SDK's schemas.
  setImmediate(preloadSchemas);
}

function openHost(environment: unknown, path: string, wanted: number | undefined): EnvironmentHost {
  const report = (text: string) => void process.stderr.write(`proctor: ${text}\n`);
  const authority = { harnessKey: undefined, isPeerTrusted: false };
  let host: EnvironmentHost;
  try {
    host = new EnvironmentHost(environment, { authority, report, sandbox: takeSandboxVariable() });
  } catch (cause) {
    throw new Error(`${path}: ${messageOf(cause)}`, { cause });
  }
  const sessions = wanted ?? host.sessionsPerProcess;
  if (!host.isShared || sessions === 1) return host;
  const found = `${path} exports an instance, which all sessions would share, and sessionsPerProcess is ${sessions}`;
  throw new Error(`${found}: export the class or a factory, or set sessionsPerProcess to 1`);
}

/** The sessions of a host, from the first connection to the end of the process. */
class Hosting {
  readonly #host: EnvironmentHost;
  readonly #scopes: SessionScopes;
  readonly #watch: ReturnType<typeof watchLoop>;
  readonly #server: Server;
  /** Connections whose opening was not read completely. */
  readonly #opening = new Set<Socket>();
  #secret = '';
  #sessions = 0;
  #isDraining = false;
  #isEnding = false;
  #isShuttingDown = false;

  constructor(host: EnvironmentHost, scopes: SessionScopes, control: HostControl) {
    this.#host = host;
    this.#scopes = scopes;
    this.#watch = watchLoop(control.fd);
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
    control.ondrain = () => this.#drain();
    control.onend = () => this.#end();
    onSigterm((budgetMs) => {
      this.#isShuttingDown = true;
      this.#stopListening();
      // An idle host has no instance left whose shutdown hooks could run.
      return host.openSessions > 0 ? host.shutdown(budgetMs) : host.close(budgetMs);
    });
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** @throws Error if the path is too long or not absolute, or if other users can access its folder. */
  async listen(path: string, secret: string): Promise<void> {
    assertPrivate(path);
    this.#secret = secret;
    rmSync(path, { force: true });
    process.once('exit', () => removeSocket(path));
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      // The mask denies other users access from the moment that the socket exists.
      const mask = process.umask(0o177);
      this.#server.listen({ path, backlog: BACKLOG }, resolve);
      process.umask(mask);
    });
    this.#server.on('error', (error) => this.#host.report(messageOf(error)));
    chmodSync(path, 0o600);
  }

  #accept(socket: Socket): void {
    // Errors are ignored, because the end of the connection ends the session anyway.
    socket.on('error', () => {});
    const [oldest] = this.#opening;
    if (this.#opening.size >= MAX_OPENING) oldest?.destroy();
    this.#opening.add(socket);
    const forget = () => this.#opening.delete(socket);
    socket.once('close', forget);
    readOpening(socket, this.#secret, (session) => {
      socket.off('close', forget);
      forget();
      this.#count(1);
      const onEnded = () => this.#count(-1);
      serveHostedSession(socket, session, { host: this.#host, scopes: this.#scopes, onEnded });
    });
  }

  #count(change: number): void {
    this.#sessions += change;
    this.#watch.setSessions(this.#sessions);
    if (this.#isDraining && this.#sessions === 0) this.#end();
  }

  #drain(): void {
    this.#isDraining = true;
    this.#stopListening();
    if (this.#sessions === 0) this.#end();
  }

  #stopListening(): void {
    this.#isEnding = true;
    this.#server.close();
    for (const socket of this.#opening) socket.destroy();
  }

  /** Ends every session like a client that disconnects, then the process. */
  #end(): void {
    this.#stopListening();
    void this.#host.close(SHUTDOWN_GRACE_MS.environment).then(() => {
      // If SIGTERM arrived meanwhile, its handler runs the shutdown hooks and ends the process.
      if (!this.#isShuttingDown) process.exit(0);
    });
  }
}

/** @throws Error that names the problem with the path. */
function assertPrivate(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (path.startsWith('\0') || !path.startsWith('/')) throw new Error('The socket of a host needs an absolute path');
  if (bytes > MAX_SOCKET_PATH_BYTES) {
    throw new Error(`The path of a host's socket may have ${MAX_SOCKET_PATH_BYTES} bytes, and ${path} has ${bytes}`);
  }
  const { mode, uid } = statSync(dirname(path));
  if ((mode & 0o077) !== 0 || uid !== process.getuid?.()) {
    throw new Error(`The directory of a host's socket has to be its user's alone (0700): ${dirname(path)}`);
  }
}

/** Removes the socket, and its folder if that is empty, because the starter may have ended. */
function removeSocket(path: string): void {
  rmSync(path, { force: true });
  try {
    rmdirSync(dirname(path));
  } catch {
    // The folder is not empty, or the starter has removed it.
  }
}

/** Reports to the starter which session ended the process, by an uncaught error or by `process.exit`. */
function tellOfAbruptEnds(control: HostControl, scopes: SessionScopes, isEnding: () => boolean): void {
  let isTold = false;
  const tell = (text: string) => {
    isTold = true;
    control.tell({ kind: 'failed', session: scopes.current()?.session ?? null, text });
  };
  process.on('uncaughtException', (error: unknown) => {
    tell(describeUncaught(error));
    scopes.toLog(`${describeThrown(error)}\n`);
    process.exit(1);
  });
  process.on('exit', (code) => {
    if (!isTold && !isEnding()) tell(`ended its process with process.exit(${code})`);
  });
}
