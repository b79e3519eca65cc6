import { randomUUID } from 'node:crypto';
import type { Transport } from '@modelcontextprotocol/server';
import { PROCESS_VARIABLES, SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import { describeUnmatched } from '../../support/text/tool-patterns.ts';
import type { EnvironmentDefinition } from '../authoring/definition.ts';
import { type EnvironmentSource, instantiateEnvironment } from '../authoring/environment-source.ts';
import type { SandboxEngines } from '../sandbox/open-engine.ts';
import type { HarnessAuthority } from './audience.ts';
import { type CleanupStep, type Report, runCleanup } from './cleanup.ts';
import type { ConnectedSource } from './session/connected-source.ts';
import { EnvironmentSession } from './session/environment-session.ts';
import type { SessionChange } from './session/session-changes.ts';
import type { Era, SessionHost } from './session-host.ts';

export interface HostOptions {
  readonly authority: HarnessAuthority;
  readonly report: Report;
  /** Called for changes in any session. */
  readonly onChange?: ((change: SessionChange) => void) | undefined;
  /** The environments in this process through which this one was connected, as their authors gave them. */
  readonly connectedBy?: readonly unknown[];
  /** Settings of sandboxes, as `PROCTOR_SANDBOX` has them. Default: that variable. */
  readonly sandbox?: string | undefined;
  /** The engines of sandboxes. Default: those of this host, which it closes. */
  readonly engines?: (() => Promise<SandboxEngines>) | undefined;
}

/**
 * Makes the sessions of one environment, usually with an instance each, and ends them. The caller that makes a host has
 * to close it.
 */
export class EnvironmentHost implements SessionHost {
  readonly authority: HarnessAuthority;
  readonly report: Report;
  /** True if the source is an instance, so all sessions share its state. */
  readonly isShared: boolean;
  readonly #source: EnvironmentSource;
  readonly #onChange: HostOptions['onChange'];
  /** This environment and those in the chain of connections before it. */
  readonly #chain: readonly unknown[];
  readonly #open = new Set<EnvironmentSession>();
  /** Sessions that are ending. A shutdown waits for them. */
  readonly #ending = new Set<Promise<void>>();
  /** Sessions whose shutdown hooks run while other sessions go on. */
  readonly #shuttingDown = new Set<Promise<void>>();
  /** Instances whose shutdown hooks have started. They run only once. */
  readonly #takenDown = new WeakSet<EnvironmentDefinition>();
  /** An instance that no session uses yet. */
  #spare: EnvironmentDefinition | undefined;
  #latest: EnvironmentDefinition;
  readonly #options: HostOptions;
  #engines: Promise<SandboxEngines> | undefined;
  #isClosed = false;

  /** @throws TypeError if it is not an environment; any error of the author's constructor or factory. */
  constructor(source: EnvironmentSource, options: HostOptions) {
    this.#source = source;
    this.#options = options;
    this.authority = options.authority;
    this.report = options.report;
    this.#onChange = options.onChange;
    this.#chain = [...(options.connectedBy ?? []), source];
    // The first instance is made here, so that a faulty environment fails at start.
    const { definition, isShared } = instantiateEnvironment(source);
    this.isShared = isShared;
    this.#spare = definition;
    this.#latest = definition;
    this.#reportPatterns(this.#latest);
  }

  /** Reports patterns that match no tool. Skipped if connected servers or initialize hooks may still add tools. */
  #reportPatterns({ tools, hubs, scenarios, connections, initializeHooks }: EnvironmentDefinition): void {
    if (connections.size > 0 || initializeHooks.length > 0) return;
    const agentHubs = [...hubs.values()].filter(({ audience }) => audience === 'agent');
    const names = [...tools.keys(), ...agentHubs.map(({ name }) => name)];
    for (const scenario of scenarios.values()) {
      const fault = describeUnmatched(scenario.name, scenario.tools, names);
      if (fault !== undefined) this.report(fault);
    }
  }

  get name(): string {
    return this.#latest.name;
  }

  get version(): string {
    return this.#latest.version;
  }

  get sessionsPerProcess(): number {
    return this.#latest.sessionsPerProcess;
  }

  /** Number of sessions that have not started to end. */
  get openSessions(): number {
    return this.#open.size;
  }

  /**
   * @param own overrides the authority or the report for a session with its own key or log.
   * @throws Error after closing; any error of the author's constructor or factory.
   */
  openSession(era: Era, hasHandle = false, own: Partial<HostOptions> = {}): EnvironmentSession {
    if (this.#isClosed) throw new Error('The server is closed');
    const definition = this.#spare ?? instantiateEnvironment(this.#source).definition;
    this.#spare = undefined;
    this.#latest = definition;
    const { authority = this.authority, report = this.report } = own;
    const openServer = (server: unknown) => this.#openConnected(server);
    const engines = () => this.#openEngines();
    const options = { id: randomUUID(), era, definition, authority, report, hasHandle, openServer, engines };
    const session = new EnvironmentSession(options);
    if (this.#onChange !== undefined) session.changes.on(this.#onChange);
    this.#open.add(session);
    session.onclose = () => {
      this.#open.delete(session);
      const ending = session.close().then(() => {
        this.#ending.delete(ending);
      });
      this.#ending.add(ending);
    };
    return session;
  }

  /** @throws Error if the environment would connect to itself; otherwise as `openConnectedSource`. */
  async #openConnected(server: unknown): Promise<ConnectedSource> {
    if (this.#chain.includes(server)) throw new Error(CONNECTED_TO_ITSELF);
    const connectedBy = [...this.#chain, server];
    const { openConnectedSource } = await import('./session/connected-source.ts');
    return openConnectedSource(server, (source, transport) => this.#serveConnected(source, transport, connectedBy));
  }

  /**
   * Serves another environment that this one connects to. It gets its own host, and this environment counts as an
   * agent.
   */
  async #serveConnected(
    source: EnvironmentSource,
    transport: Transport,
    connectedBy: readonly unknown[],
  ): Promise<() => Promise<void>> {
    const authority = { harnessKey: undefined, isPeerTrusted: false };
    const host = new EnvironmentHost(source, {
      authority,
      report: this.report,
      connectedBy,
      engines: () => this.#openEngines(),
    });
    await host.openSession('legacy').connect(transport);
    return () => host.close(SHUTDOWN_GRACE_MS.environment);
  }

  /** Ends every session. Never rejects. */
  async close(budgetMs: number): Promise<void> {
    await Promise.all([this.#endSessions(budgetMs), ...this.#shuttingDown]);
  }

  /**
   * Handles SIGTERM: ends every session, then runs the shutdown hooks of their instances. If no session is open, the
   * hooks of the last instance run, so that everything that the environment set up is removed. Never rejects.
   */
  async shutdown(budgetMs: number): Promise<void> {
    const live = new Set([...this.#open].map(({ definition }) => definition));
    const definitions = live.size > 0 ? live : new Set([this.#latest]);
    const sessions = { name: 'The end of the sessions', run: () => this.#endSessions(budgetMs / 2) };
    await Promise.all([this.#takeDown(definitions, sessions, budgetMs), ...this.#shuttingDown]);
  }

  /**
   * Ends one session as SIGTERM would, while others go on. Its shutdown hooks run unless they have run already. Never
   * rejects.
   */
  async shutdownSession(session: EnvironmentSession, budgetMs: number): Promise<void> {
    const end = { name: 'The end of the session', run: () => session.close(budgetMs / 2) };
    const ending = this.#takeDown(new Set([session.definition]), end, budgetMs).finally(() => {
      this.#shuttingDown.delete(ending);
    });
    this.#shuttingDown.add(ending);
    await ending;
  }

  async #endSessions(budgetMs: number): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...[...this.#open].map((session) => session.close(budgetMs)), ...this.#ending]);
    await this.#engines?.then((engines) => engines.close()).catch(() => {}); // They could not be opened.
  }

  /** The engines of sandboxes, which are loaded when a session needs the first one. @throws TypeError for bad settings. */
  #openEngines(): Promise<SandboxEngines> {
    const { engines, sandbox = process.env[PROCESS_VARIABLES.sandbox] } = this.#options;
    if (engines !== undefined) return engines();
    this.#engines ??= import('../sandbox/open-engine.ts').then(
      // Settings that came from another process have the variables of its operator.
      ({ SandboxEngines: Engines, parseSandboxSettings }) =>
        new Engines({ variables: process.env, ...parseSandboxSettings(sandbox) }),
    );
    return this.#engines;
  }

  async #takeDown(definitions: ReadonlySet<EnvironmentDefinition>, end: CleanupStep, budgetMs: number): Promise<void> {
    const deadline = Date.now() + budgetMs;
    const left = [...definitions].filter((definition) => !this.#takenDown.has(definition));
    for (const definition of left) this.#takenDown.add(definition);
    // Limited to half of the time, so that a session that hangs leaves time for the shutdown hooks. This also limits
    // sessions that began to end earlier with a limit of their own.
    await runCleanup([end], budgetMs / 2, this.report);
    const budgetOfHooksMs = Math.max(0, deadline - Date.now());
    const runHooks = ({ shutdownHooks }: EnvironmentDefinition) => {
      const steps = [...shutdownHooks].reverse().map((hook) => ({ name: 'A shutdown hook', run: hook }));
      return runCleanup(steps, budgetOfHooksMs, this.report);
    };
    // Run in parallel, so that a hook that hangs takes no time from other instances.
    await Promise.all(left.map(runHooks));
  }
}

const CONNECTED_TO_ITSELF =
  'its server is this environment itself, or one that is connected to this one: that would never end';
